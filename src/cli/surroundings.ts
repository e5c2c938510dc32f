// What both programs find themselves in when they start, for whoever reads settings. It reads no file.

import { workingFolder } from '../run/folder.ts';
import type { Surroundings } from './sources.ts';
import { ConfigError } from './trouble.ts';

/** @throws ConfigError when the working directory is gone */
export function surroundings(environment: NodeJS.ProcessEnv): Surroundings {
  const cwd = workingFolder();
  if (cwd === null) throw new ConfigError('working directory: it has been removed (go to one that is there)');
  return { environment, cwd, home: environment.HOME };
}
