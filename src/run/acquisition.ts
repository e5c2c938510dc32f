// What the attempts of a run leave in the history of its lock: that it was refused, that it left
// the queue, that it began. Its end is in outcome.ts. The simulator runs this too.

import type { LockRequest } from '../lock/acquire.ts';
import { renderRun, vanished } from '../lock/history.ts';
import type { Clock } from '../lock/ports.ts';
import type { HolderRecord } from '../lock/value.ts';
import { entryOf } from './outcome.ts';
import { type Cause, notStarted, type Seen } from './record.ts';

/** `self`: this run, as a holder. `run`: its id, in place of a token where it is refused. */
export function historyOf(
  self: Omit<HolderRecord, 'since'>,
  run: string,
  conflictExitCode: number,
  clock: Clock,
  seen: () => Seen,
): (request: LockRequest) => LockRequest {
  const beganAt = clock.now();
  const { host } = self;
  const refused = { ...self, outcome: 'busy', waitMs: 0, status: conflictExitCode } as const;
  const line = renderRun({ token: run, ...refused }); // The masters add the holder.
  let isRepeated = false;
  /** What an attempt of a run that does not wait leaves: one entry for all of them. */
  const newSkip = () => {
    const skip = { line, host, run, isRepeated };
    isRepeated = true;
    return skip;
  };
  /** What the masters keep of a run that has acquired the lock, until its end. */
  const startOf = (token: string) => {
    const waitMs = Math.round(clock.now() - beganAt);
    return { token, line: renderRun({ token, ...self, outcome: vanished, waitMs, status: 0 }) };
  };
  return (request) => ({
    ...request,
    newClaim: (isWaiting) => {
      const claim = request.newClaim(isWaiting);
      const start = startOf(claim.token);
      return isWaiting ? { ...claim, start } : { ...claim, start, skip: newSkip() };
    },
    lineOf: ({ token }, refusal) => {
      const cause = (request.aborted.reason as Cause | undefined) ?? refusal;
      const record = { ...notStarted, ...seen(), cause, waitMs: clock.now() - beganAt };
      return entryOf(token, self, record, conflictExitCode);
    },
  });
}
