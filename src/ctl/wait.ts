// `redlockctl wait NAME`: returns when a lock is free. It only looks: it stands in no queue and
// does not take the lock, so another client may have it a moment later.

import { gaveUpAfter, type ShownHolder } from '../lock/wait.ts';
import { busyLine, heldAroundLine, noQuorumLine } from '../text/ends.ts';
import { exitCode } from '../text/errors.ts';
import { jsonLine, quoted } from '../text/foreign-text.ts';
import { waitedOn } from '../text/lines.ts';
import type { Call } from './call.ts';
import type { LockState } from './lock-state.ts';
import { describe, headlineOf, together } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';
import { codeOf } from './status.ts';
import { heldAround, noticeOf } from './steps/acquisition.ts';

/** The interval of looks. */
const everyMs = 500;
/** Masters expire keys a moment late rather than early. */
const expiryMs = 1;

export async function waitUntilFree(call: Call): Promise<number> {
  const { args, settings, clock, print, tell, interrupted } = call;
  const { waitMs, giveUpAfterMs } = settings;
  const name = args.operands[0] ?? '';
  const query = await MasterQuery.of(settings, clock);
  const aborted = interrupted();
  const notice = noticeOf(call);
  const isHeldAround = heldAround(call);
  const beganAt = clock.now();
  let quorumSeenAt = beganAt;
  for (;;) {
    const [lock] = (await query.look([name])) as [LockState];
    const waitedMs = clock.now() - beganAt;
    const code = codeOf[lock.state];
    const isQuorumMissing = code === exitCode.unreachable;
    if (!isQuorumMissing) quorumSeenAt = clock.now();
    const leftMs = (waitMs ?? Number.POSITIVE_INFINITY) - waitedMs;
    const holder = shownHolderOf(lock);
    const isOurs = holder !== null && isHeldAround(holder);
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
      const gaveUpAfterMs = gaveUpAfter(settings, waitedMs);
      if (isOurs) tell(heldAroundLine(quoted(name), lock.holders[0]?.forPid ?? undefined, null));
      else if (code !== exitCode.ok && !aborted.aborted) tell(endLineOf(lock, gaveUpAfterMs));
      return code;
    }
    notice.update(
      { key: keyOf(lock), position: null, printAfterMs: 0, why: (nowMs) => whyOf(lock, nowMs) },
      waitedMs,
    );
    const expiresInMs = (lock.remainingMs ?? Number.POSITIVE_INFINITY) + expiryMs;
    query.reset();
    await clock.sleep(Math.min(everyMs, expiresInMs, leftMs), aborted);
  }
}

function keyOf({ state, holders }: LockState): string {
  return `${state} ${holders.map(({ token }) => token).join(' ')}`;
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

/** null: nothing holds it. */
function shownHolderOf({ holders }: LockState): ShownHolder | null {
  const [holder] = holders;
  if (holder === undefined) return null;
  const { token, host, pid, forPid } = holder;
  const isHold = host !== null && pid !== null && forPid !== null;
  return { token, record: isHold ? { host, pid, forPid } : null, isAlone: holders.length === 1 };
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
