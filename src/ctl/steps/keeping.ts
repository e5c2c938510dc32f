// How a lock is held for another process: taken, handed over, extended for as long as it is wanted,
// released. It reaches the masters through what it is given, so the simulator runs it as it is.
// *Note:* a release by token wakes us; without that wake-up a lock that is missing was lost.

import { LeaseKeeper } from '../../lock/lease-keeper.ts';
import type { Clock } from '../../lock/ports.ts';
import type { Lease } from '../../lock/redlock.ts';
import { lockTimings } from '../../lock/timings.ts';
import { keeperIdOf, parseValue } from '../../lock/value.ts';
import type { NotAcquired } from '../../lock/wait.ts';
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
async function watch(
  isWanted: () => boolean,
  clock: Clock,
  gone: AbortController,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted && !gone.signal.aborted) {
    await clock.sleep(lookMs, over);
    if (!over.aborted && !isWanted()) gone.abort('unwanted');
  }
}

/** Resolves when it is over. What is still held then is released by the caller. */
async function keep(parts: KeepingParts, lease: Lease, { isWanted, ended }: Terms): Promise<End> {
  const { redlock, clock, masterTimeoutMs } = parts;
  const { claim } = lease;
  const id = keeperIdOf(parseValue(claim.value).token);
  const lost = new AbortController();
  const bug: unknown = null;
  const subscriptions = await redlock.subscribe({ ...claim, waiter: { id, arrivalUs: 0 } });
  const { extendEveryMs } = lockTimings({ ttlMs: claim.ttlMs, masterTimeoutMs, reserveMs: 0 });
  const keeper = new LeaseKeeper(
    lease,
    { extendEveryMs, masterTimeoutMs, reserveMs: 0 },
    {
      ...parts,
      report: () => {},
      onLost: () => lost.abort(),
      onBug: (bug) => lost.abort(bug),
    },
  );
  keeper.begin();
  const over = AbortSignal.any([ended, lost.signal]);
  try {
    for (;;) {
      await subscriptions.pause(lookMs, over);
      if (ended.aborted) return 'told';
      // Some masters may show it yet, or again, by what was under way when it was released. It is
      // removed everywhere by the caller.
      if (subscriptions.isWoken) return 'released';
      // A release by token wakes us when it is complete, which extending may have seen first.
      if (bug !== null) throw bug;
      if (lost.signal.aborted) {
        await subscriptions.pause(
          clock.now() < keeper.lease.validUntil ? masterTimeoutMs : 0,
          ended,
        );
        if (ended.aborted) return 'told';
        return subscriptions.isWoken ? 'released' : 'lost';
      }
      if (!isWanted()) return 'unwanted';
    }
  } finally {
    keeper.end();
    subscriptions.close();
  }
}
