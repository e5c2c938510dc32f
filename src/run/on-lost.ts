// The command of --on-lost: run once by /bin/sh when the lock is lost, after the stop signal was
// sent. It is no part of the job and is not ended with it; its time is bounded instead. Its stdout
// is our stderr, because nothing of ours may ever reach stdout.

import { startOwn } from './processes/own-children.ts';

const longestMs = 10_000;

/** Resolves when it has ended or has been killed after ten seconds; whatever it does changes no exit code. */
export function runOnLost(script: string, environment: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve) => {
    const hook = startOwn('/bin/sh', ['-c', script], { stdio: ['ignore', 2, 2], env: environment, detached: true });
    const kill = () => {
      try {
        if (hook.pid !== undefined) process.kill(-hook.pid, 'SIGKILL');
      } catch {
        // It has ended in this very moment.
      }
    };
    const timer = setTimeout(kill, longestMs);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    hook.once('error', end);
    hook.once('exit', end);
  });
}
