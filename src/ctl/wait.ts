// `redlockctl wait NAME`: returns when a lock is free. It only looks: it joins no queue and
// does not take the lock, so another client may have it a moment later.

import { gaveUpAfter } from '../lock/wait.ts';
import { busyLine, heldAroundLine, noQuorumLine } from '../text/ends.ts';
import { exitCode } from '../text/errors.ts';
import { jsonLine, quoted } from '../text/foreign-text.ts';
import { waitedOn } from '../text/lines.ts';
import type { Call } from './call.ts';
import type { Holder, LockState } from './lock-state.ts';
import { describe, headlineOf, together } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';
import { codeOf } from './status.ts';
import { heldAround, noticeOf } from './steps/acquire.ts';

/** The interval of looks. */
const everyMs = 500;
/** Masters expire keys a moment late rather than early. */
const expiryMs = 1;

export async function wait(call: Call): Promise<number> {
  const { args, settings, clock, print, tell, interrupted } = call;
  const { waitMs, giveUpAfterMs } = settings;
  const query = await MasterQuery.of(settings, clock);
  const aborted = interrupted();
  const notice = noticeOf(call);
  const isHeldAround = heldAround(call);
  const beganAt = clock.now();
  let quorumSeenAt = beganAt;
  for (;;) {
    const [lock] = (await query.look([args.name])) as [LockState];
    const waitedMs = clock.now() - beganAt;
    const code = codeOf[lock.state];
    const isQuorumMissing = code === exitCode.unreachable;
    if (!isQuorumMissing) quorumSeenAt = clock.now();
    const leftMs = (waitMs ?? Number.POSITIVE_INFINITY) - waitedMs;
    const [holder] = lock.holders;
    const isAlone = lock.holders.length === 1;
    const isOurs =
      holder !== undefined &&
      isHeldAround({ token: holder.token, record: recordOf(holder), isAlone });
    const isOver =
      aborted.aborted ||
      isOurs ||
      code === exitCode.ok ||
      code === exitCode.config ||
      leftMs <= 0 ||
      (isQuorumMissing && clock.now() - quorumSeenAt >= giveUpAfterMs);
    if (isOver) {
      notice.end();
      query.close();
      if (args.has('--json')) print(jsonLine({ waitedMs: Math.round(waitedMs), lock }));
      if (isOurs) tell(heldAroundLine(quoted(args.name), holder.forPid ?? undefined, null));
      else if (code !== exitCode.ok && !aborted.aborted)
        tell(endLineOf(lock, gaveUpAfter(settings, waitedMs)));
      return code;
    }
    const key = `${lock.state} ${lock.holders.map(({ token }) => token).join(' ')}`;
    const why = (nowMs: number) => whyOf(lock, nowMs);
    notice.update({ key, position: null, printAfterMs: 0, why }, waitedMs);
    const expiresInMs = (lock.remainingMs ?? Number.POSITIVE_INFINITY) + expiryMs;
    query.reset();
    await clock.sleep(Math.min(everyMs, expiresInMs, leftMs), aborted);
  }
}

/** Of a holder that redlockctl hold has made; null: of another one. */
function recordOf({ host, pid, forPid }: Holder) {
  return host === null || pid === null || forPid === null ? null : { host, pid, forPid };
}

/** What holds the wait up. */
function whyOf(lock: LockState, nowMs: number): string {
  const [holder] = lock.holders;
  if (lock.state === 'unknown') return `no quorum: ${failuresOf(lock)}`;
  if (lock.state !== 'held' || holder === undefined) return headlineOf(lock);
  if (lock.sharing !== 'exclusive') return together(lock);
  const { host, pid, user, since, label } = holder;
  if (host === null || pid === null || user === null || since === null || label === null)
    return `held by ${describe(holder)}`;
  return `held by ${waitedOn({ host, pid, user, since, label }, nowMs)}`;
}

/** Why it was not free at the end. */
function endLineOf(lock: LockState, gaveUpAfterMs: number | null): string {
  switch (codeOf[lock.state]) {
    case exitCode.busy:
      return busyLine(quoted(lock.name), headlineOf(lock), 'wait longer with -w');
    case exitCode.config:
      return `masters: ${failuresOf(lock)}`;
    default:
      return noQuorumLine(quoted(lock.name), failuresOf(lock), gaveUpAfterMs, 'giveUpAfter');
  }
}

function failuresOf({ votes }: LockState): string {
  return votes
    .flatMap(({ master, failure }) => (failure === null ? [] : [`${master}: ${failure.message}`]))
    .join('; ');
}
