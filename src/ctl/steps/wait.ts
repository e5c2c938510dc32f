// `redlockctl wait NAME`: returns when the lock is free, without taking it. It only looks, again
// and again, so another client may have the lock a moment later. It stands in no queue.

import { WaitNotice } from '../../cli/wait-notice.ts';
import { exitCode } from '../../text/exit-codes.ts';
import { jsonLine } from '../../text/json.ts';
import { quoted } from '../../text/quote.ts';
import { waitedOn } from '../../text/waiting.ts';
import type { Call } from '../call.ts';
import type { LockState } from '../lock-state.ts';
import { describe, headlineOf, together } from '../lock-text.ts';
import { MasterQuery } from '../master-query.ts';
import { codeOf } from '../status.ts';

const everyMs = 500;
/** Masters expire keys a moment late rather than early. */
const expiryMs = 1;

export async function waitUntilFree(call: Call): Promise<number> {
  const { words, settings, clock, print, tell, stderr, interrupted } = call;
  const { waitMs, giveUpAfterMs } = settings;
  const name = words.operands[0] ?? '';
  const query = await MasterQuery.of(settings, clock);
  const aborted = interrupted();
  const notice = new WaitNotice(
    {
      names: [name],
      waitMs,
      print: (line, paint) => stderr.write(`redlockctl: ${paint(line)}\n`),
    },
    stderr,
    call.environment,
  );
  const beganAt = clock.now();
  let quorumSeenAt = beganAt;
  for (;;) {
    const [lock] = (await query.look([name])) as [LockState];
    const waitedMs = clock.now() - beganAt;
    const code = codeOf[lock.state];
    if (code !== exitCode.unreachable) quorumSeenAt = clock.now();
    const leftMs = (waitMs ?? Number.POSITIVE_INFINITY) - waitedMs;
    const isOver =
      aborted.aborted ||
      code === exitCode.ok ||
      code === exitCode.config ||
      leftMs <= 0 ||
      clock.now() - quorumSeenAt >= giveUpAfterMs;
    if (isOver) {
      notice.end();
      query.close();
      if (words.has('--json')) print(jsonLine({ waitedMs: Math.round(waitedMs), lock }));
      if (code !== exitCode.ok) tell(complaintAbout(lock));
      return code;
    }
    notice.update(
      { key: keyOf(lock), position: null, why: (nowMs) => whyOf(lock, nowMs) },
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

function complaintAbout(lock: LockState): string {
  switch (codeOf[lock.state]) {
    case exitCode.busy:
      return `busy: ${quoted(lock.name)}: ${headlineOf(lock)} (wait longer with -w)`;
    case exitCode.config:
      return `masters: ${failuresOf(lock)}`;
    default:
      return `no quorum: ${quoted(lock.name)}: ${failuresOf(lock)}`;
  }
}

function failuresOf({ votes }: LockState): string {
  return votes
    .flatMap(({ master, failure }) => (failure === null ? [] : [`${master}: ${failure.message}`]))
    .join('; ');
}
