// What the attempts of a run leave in the history of its lock. The simulator runs this too.

import type { LockRequest } from '../lock/acquire.ts';
import type { HistoryLines } from './history-lines.ts';
import type { Cause } from './record.ts';

/** The same request, with claims that leave `lines`. `runId`: in place of a token, if refused. */
export function withHistory(
  request: LockRequest,
  lines: Pick<HistoryLines, 'startOf' | 'skipOf' | 'ofWait'>,
  runId: string,
): LockRequest {
  const { aborted } = request;
  return {
    ...request,
    newClaim: (isWaiting) => {
      const claim = request.newClaim(isWaiting);
      const start = lines.startOf(claim);
      return isWaiting ? { ...claim, start } : { ...claim, start, skip: lines.skipOf(runId) };
    },
    lineOf: (claim, refusal) =>
      lines.ofWait(claim, (aborted.reason as Cause | undefined) ?? refusal),
  };
}
