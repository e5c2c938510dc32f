// Holds a lock for another process: acquires it, hands its token over, extends it while it is
// wanted, and releases it. Pure of arguments and output, so the simulator runs it as it is. *Note:*
// a release by token wakes this process; a lock that is missing without that wake-up was lost.

import { acquireLock, type LockRequest } from '../../lock/acquire.ts';
import { LeaseKeeper } from '../../lock/lease-keeper.ts';
import type { Listen } from '../../lock/people.ts';
import type { Clock } from '../../lock/ports.ts';
import type { LockTimings } from '../../lock/timings.ts';
import type { Lease } from '../../lock/types.ts';
import type { NotAcquired } from '../../lock/wait.ts';
import type { Subscriptions } from '../../lock/wait-queue.ts';
import { keeperIdOf } from '../../lock/waiter-id.ts';

/** `aborted` of the request: a signal has come to stop. */
export interface HoldRequest extends LockRequest {
  readonly timings: LockTimings;
  /** Subscribes to what operators request of the holder; null: they are not listened to. */
  readonly listen: Listen | null;
  /** Whether the process for which it is held still runs. */
  readonly isWanted: () => boolean;
  /** Passes the token on. Resolves with whether that succeeded; if not, the lock is released. */
  readonly handOver: (lease: Lease) => Promise<boolean>;
  /** The line for the history; null: none. */
  readonly lineOfEnd: (lease: Lease, end: End, waitMs: number, heldMs: number) => string | null;
}

/**
 * released: with its token. told: by a signal. unwanted: its process has ended. stopped: an
 * operator requested it (redlockctl stop).
 */
export type End = 'released' | 'told' | 'unwanted' | 'stopped' | 'lost';

export type Kept =
  | { readonly kind: 'kept'; readonly end: End }
  | { readonly kind: 'not-acquired'; readonly acquisition: NotAcquired };

/** How often it is checked whether the process for which the lock is held still runs. */
const lookMs = 500;

/** Resolves when the lock is released on every master that answers, or was not acquired. */
export async function hold(request: HoldRequest): Promise<Kept> {
  const { redlock, clock, isWanted, handOver } = request;
  const beganAt = clock.now();
  const gone = new AbortController();
  const handedOver = new AbortController();
  void watch(isWanted, clock, gone, handedOver.signal);
  const aborted = AbortSignal.any([request.aborted, gone.signal]);
  const acquisition = await acquireLock({ ...request, aborted });
  if (acquisition.kind !== 'acquired') {
    handedOver.abort();
    return { kind: 'not-acquired', acquisition };
  }
  const { lease } = acquisition;
  const acquiredAt = clock.now();
  // Before its user has the token: the wake-up of a release must be heard from then on.
  const { resources, token } = lease.claim;
  const subscriptions = await redlock.subscribe(resources, keeperIdOf(token));
  const unwanted = new Promise<false>((resolve) => {
    gone.signal.addEventListener('abort', () => resolve(false), { once: true });
  });
  const isTold = await Promise.race([handOver(lease), unwanted]);
  handedOver.abort();
  const keeping = isTold
    ? keep(request, lease, subscriptions)
    : Promise.resolve('unwanted' as const);
  const end = await keeping.finally(() => subscriptions.close());
  const line = request.lineOfEnd(lease, end, acquiredAt - beganAt, clock.now() - acquiredAt);
  await redlock.release(lease.claim, 0, line);
  await redlock.settled();
  return { kind: 'kept', end };
}

/** Aborts `gone` when the process that the lock is for ends before it has the token. */
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

/** Extends the lock until one of the ends. The caller releases it. */
async function keep(
  request: HoldRequest,
  lease: Lease,
  subscriptions: Subscriptions,
): Promise<End> {
  const { clock, timings, aborted, isWanted } = request;
  const lost = new AbortController();
  const stopped = new AbortController();
  let bug: unknown = null;
  const keeper = new LeaseKeeper(lease, { ...timings, marginMs: 0 }, request, (event) => {
    if (event.kind === 'stop-asked') stopped.abort();
    if (event.kind === 'bug') bug = event.bug;
    if (event.kind === 'bug' || event.kind === 'lost') lost.abort();
  });
  keeper.begin(true);
  const over = AbortSignal.any([aborted, lost.signal, stopped.signal]);
  try {
    for (;;) {
      await subscriptions.pause(lookMs, over);
      if (aborted.aborted) return 'told';
      if (stopped.signal.aborted) return 'stopped';
      // Requests that were under way may leave the value on some masters. The caller removes it
      // everywhere.
      if (subscriptions.isWoken) return 'released';
      // The wake-up of a release comes when it is complete; an extension may have failed before.
      if (bug !== null) throw bug;
      if (lost.signal.aborted) {
        await subscriptions.pause(
          clock.now() < keeper.lease.validUntil ? timings.masterTimeoutMs : 0,
          aborted,
        );
        if (aborted.aborted) return 'told';
        return subscriptions.isWoken ? 'released' : 'lost';
      }
      if (!isWanted()) return 'unwanted';
    }
  } finally {
    keeper.end();
  }
}
