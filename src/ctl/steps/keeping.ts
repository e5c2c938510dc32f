// How a lock is held for somebody else: taken, handed over, extended for as long as it is wanted, given back. It knows no words, prints nothing
// and reaches the masters through what it is given, so the simulator runs it as it is. The surprise: whoever gives the lock back by its
// token calls us; without that call a lock that is gone was lost.

import type { NotAcquired } from '../../lock/acquire.ts';
import { parseValue } from '../../lock/holder.ts';
import type { Clock } from '../../lock/ports.ts';
import type { Lease } from '../../lock/redlock.ts';
import { keeperIdOf } from '../../lock/waiter-id.ts';
import { type TakingParts, take, type Wanted } from './taking.ts';

export interface KeepingParts extends TakingParts {
  readonly masterTimeoutMs: number;
}

export interface Terms {
  /** Whether whoever it is held for is still there. */
  readonly isWanted: () => boolean;
  /** We were told to stop. */
  readonly ended: AbortSignal;
  /** It has been taken. Resolves with whether the token was told; else nobody could give it back. */
  readonly handOver: (lease: Lease) => Promise<boolean>;
  /** The line for the history; null: none. */
  readonly recordOf: (lease: Lease, end: End, waitMs: number, heldMs: number) => string | null;
}

/** released: somebody with the token gave it back. unwanted: nobody is there any more to give it back. */
export type End = 'released' | 'told' | 'unwanted' | 'lost';

export type Kept =
  | { readonly kind: 'kept'; readonly end: End }
  | { readonly kind: 'not-acquired'; readonly acquisition: NotAcquired };

/** Between two looks whether the process for which the lock is held is still there. */
const lookMs = 500;

/** Resolves when the lock has been given back, on every master that answers, or was never had. */
export async function hold(parts: KeepingParts, wanted: Wanted, terms: Terms): Promise<Kept> {
  const { redlock, clock } = parts;
  const beganAt = clock.now();
  const gone = new AbortController();
  const handedOver = new AbortController();
  void watch(terms.isWanted, clock, gone, handedOver.signal);
  const acquisition = await take(parts, wanted, AbortSignal.any([terms.ended, gone.signal]));
  if (acquisition.kind !== 'acquired') {
    handedOver.abort();
    return { kind: 'not-acquired', acquisition };
  }
  const { lease } = acquisition;
  const acquiredAt = clock.now();
  const unwanted = new Promise<false>((resolve) => {
    gone.signal.addEventListener('abort', () => resolve(false), { once: true });
  });
  const isTold = await Promise.race([terms.handOver(lease), unwanted]);
  handedOver.abort();
  const end = isTold ? await keep(parts, lease, terms) : 'unwanted';
  const record = terms.recordOf(lease, end, acquiredAt - beganAt, clock.now() - acquiredAt);
  await redlock.release(lease.claim, 0, record);
  await redlock.settled();
  return { kind: 'kept', end };
}

/** As long as nobody has been told of a lock, whoever it is for may go, and nobody waits for it any more. */
async function watch(isWanted: () => boolean, clock: Clock, gone: AbortController, over: AbortSignal): Promise<void> {
  while (!over.aborted && !gone.signal.aborted) {
    await clock.sleep(lookMs, over);
    if (!over.aborted && !isWanted()) gone.abort('unwanted');
  }
}

/** Resolves when it is over. What is still held then is released by the caller. */
async function keep(parts: KeepingParts, acquired: Lease, { isWanted, ended }: Terms): Promise<End> {
  const { redlock, clock, random, masterTimeoutMs } = parts;
  const { claim } = acquired;
  const extendEveryMs = claim.ttlMs / 3;
  let lease = acquired;
  let nextAt = lease.startedAt + extendEveryMs;
  const id = keeperIdOf(parseValue(claim.value).token);
  const line = await redlock.joinLine({ ...claim, waiter: { id, arrivalUs: 0 } });
  try {
    for (;;) {
      const wakeAt = Math.min(nextAt, clock.now() + lookMs);
      await line.pause(Math.max(0, wakeAt - clock.now()), ended);
      const now = clock.now();
      if (ended.aborted) return 'told';
      if (now >= lease.validUntil) return 'lost';
      if (!isWanted()) return 'unwanted';
      // Some masters may show it yet, or again: what was under way when it was given back. We remove it everywhere.
      if (line.isCalled) return 'released';
      if (now < nextAt) continue;
      const extension = await redlock.extend(lease, ended);
      if (extension.kind === 'extended') lease = extension.lease;
      // Who gives it back calls us when it is gone everywhere, which we may have seen first; nobody else who takes it away does.
      else if (extension.kind === 'lost' && !ended.aborted) {
        await line.pause(masterTimeoutMs, ended);
        if (ended.aborted) return 'told';
        return line.isCalled ? 'released' : 'lost';
      }
      const isProven = extension.kind === 'extended';
      nextAt = isProven ? lease.startedAt + extendEveryMs : clock.now() + masterTimeoutMs * (0.25 + 0.25 * random());
    }
  } finally {
    line.close();
  }
}
