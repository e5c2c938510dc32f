// Where a program is started: its environment, and the directories in which a configuration file is
// looked for.

import { existsSync } from 'node:fs';
import { ConfigError } from '../text/errors.ts';

/** The environment and the directories that a program is started in. */
export interface ExecutionContext {
  readonly environment: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** $HOME; empty, or not an absolute path, counts as absent. */
  readonly home: string | undefined;
  /** The last place to look for a configuration: /etc/redlockrc, except in tests. */
  readonly systemConfigFile?: string;
  /**
   * False: the working directory and its parents are not searched. Completion does not search them,
   * because it runs before the user has run anything there. Default: true.
   */
  readonly searchesParents?: boolean;
}

/** @throws ConfigError when the working directory has been removed */
export function executionContext(environment: NodeJS.ProcessEnv): ExecutionContext {
  const cwd = workingFolder();
  if (cwd === null)
    throw new ConfigError('working directory: it has been removed (go to one that is there)');
  return { environment, cwd, home: environment.HOME };
}

/**
 * The path of the working folder, also when it has been removed meanwhile, as checkouts of CI are.
 * sh(1) and flock(1) work in such a folder; only its path is missing, and Node throws when asked
 * for it. On Linux /proc has another path to it. null: no path leads to it.
 */
function workingFolder(): string | null {
  try {
    return process.cwd();
  } catch {
    const itself = '/proc/self/cwd';
    return existsSync(itself) ? itself : null;
  }
}
