// Starts a guard to know whether one can work on this machine, and ends it. No command is started,
// and no lock is needed.

import { GuardProcess, type GuardProgram } from './guard-process.ts';

/** How long it may take to answer. */
const answerMs = 10_000;

/** Resolves with why a guard cannot do its work here; null: it can. Never rejects. */
export async function whyNoGuard(program: GuardProgram): Promise<string | null> {
  const guard = new GuardProcess(program);
  guard.onMessage(() => {});
  const config = { stopSignal: 'SIGTERM', graceMs: 0, slackMs: 0 } as const;
  const answer = guard.ask({ kind: 'configure', config });
  const outcome = await Promise.race([
    answer.then((given) => given?.failure ?? null),
    guard.ended.then((how) => `a guard does not start: ${how}`),
    new Promise<string>((resolve) => {
      setTimeout(resolve, answerMs, `a guard did not answer within ${answerMs} ms`).unref();
    }),
  ]);
  guard.kill();
  return outcome;
}
