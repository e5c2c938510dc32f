// The command of --on-lost, run by /bin/sh once, when the lock is lost, after the stop signal was
// sent. It is no part of the command, is not ended with it, and changes no exit code; its time is
// limited. What it prints goes to stderr, because only the command may write to stdout.

import { accessSync, constants } from 'node:fs';

const maxMs = 10_000;

/** Resolves when the script has ended or was killed after ten seconds. It changes no exit code. */
export async function runOnLost(script: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const { execa } = await import('./execa.ts'); // Loaded before the command was started.
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
  const { pid } = hook;
  const timer = setTimeout(() => pid !== undefined && killGroup(pid), maxMs);
  await hook;
  clearTimeout(timer);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
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
