// The command of --on-lost: run once by /bin/sh when the lock is lost, after the stop signal was
// sent. It is not part of the command and is not ended with it; its time is limited instead. Its
// stdout goes to stderr, because only the command may write to stdout.

import { accessSync, constants } from 'node:fs';
import type { RunEvent } from './events.ts';
import { keepApart } from './processes/own-children.ts';
import { send } from './processes/process-tree.ts';
import type { LostReason } from './supervisor.ts';

const longestMs = 10_000;

/** Why the lock was lost; null: the event is no loss. */
export function reasonOfLoss(event: RunEvent): LostReason | null {
  if (event.kind === 'lost-at-release') return 'taken';
  return event.kind === 'stopping' && event.cause.kind === 'lost' ? event.cause.reason : null;
}

/** Resolves when the script has ended or was killed after ten seconds. It changes no exit code. */
export async function runOnLost(script: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const { execa } = await import('execa');
  const hook = execa('/bin/sh', ['-c', script], {
    stdio: ['ignore', 2, 2],
    env: environment,
    extendEnv: false,
    cwd: folder(),
    detached: true,
    buffer: false,
    cleanup: false,
    reject: false,
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
