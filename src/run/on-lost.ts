// The command of --on-lost, run by /bin/sh once, when the lock is lost, after the stop signal was
// sent. It is no part of the command, is not ended with it, and changes no exit code; its time is
// limited. What it prints goes to stderr, because only the command may write to stdout.

import { accessSync, constants } from 'node:fs';
import { keepApart } from './processes/own-children.ts';
import { send } from './processes/process-tree.ts';

const longestMs = 10_000;

/**
 * Loads what the hook needs, before the command is started: another release may have been
 * installed by the time when the lock is lost.
 */
export function prepareOnLost(): void {
  import('./processes/execa.ts').catch(() => {}); // It is told when it is needed.
}

/** Resolves when the script has ended or was killed after ten seconds. It changes no exit code. */
export async function runOnLost(script: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const { execa } = await import('./processes/execa.ts');
  const hook = execa('/bin/sh', ['-c', script], {
    stdio: ['ignore', 2, 2],
    env: environment,
    extendEnv: false,
    cwd: folder(),
    detached: true,
    buffer: false,
    cleanup: false,
    reject: false,
    verbose: 'none',
  });
  keepApart(hook);
  const { pid } = hook;
  const timer = setTimeout(() => pid !== undefined && send(-pid, 'SIGKILL'), longestMs);
  await hook;
  clearTimeout(timer);
}

/** The working folder, or / where it is removed or not accessible: hooks always change to one. */
export function folder(): string {
  try {
    const own = process.cwd();
    accessSync(own, constants.X_OK);
    return own;
  } catch {
    return '/';
  }
}
