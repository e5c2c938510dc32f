// The command of --on-lost: run once by /bin/sh when the lock is lost, after the stop signal was
// sent. It is no part of the job and is not ended with it; its time is bounded instead. Its stdout
// is our stderr, because nothing of ours may ever reach stdout.

import type { RunEvent } from './events.ts';
import { startOwn } from './processes/own-children.ts';
import { send } from './processes/process-tree.ts';
import type { LostReason } from './supervisor.ts';

const longestMs = 10_000;

/** Why the lock was lost; null: the event tells of no loss. */
export function reasonOfLoss(event: RunEvent): LostReason | null {
  if (event.kind === 'found-lost') return 'taken';
  return event.kind === 'stopping' && event.cause.kind === 'lost' ? event.cause.reason : null;
}

/** Resolves when it has ended, or was killed after ten seconds; it changes no exit code. */
export function runOnLost(script: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    const hook = startOwn('/bin/sh', ['-c', script], {
      stdio: ['ignore', 2, 2],
      env: environment,
      detached: true,
    });
    const { pid } = hook;
    const timer = setTimeout(() => pid !== undefined && send(-pid, 'SIGKILL'), longestMs);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    hook.once('error', end).once('exit', end);
  });
  // spawn() throws for a script that is too long for the system.
  return ended.catch(() => {});
}
