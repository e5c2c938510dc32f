// Acquires a lock and makes sure that it can be used: the servers are what they have to be, it is
// of use here, and there is still time. Otherwise the lock is released and, where that may help,
// acquired again. redlock-run, redlockctl, the library and the simulator run this.

import { deadlineOf } from './lease-keeper.ts';
import type { Clock } from './ports.ts';
import type { Failed, MasterFailure } from './types.ts';
import { type Acquisition, type WaitRequest, waitForLock } from './wait.ts';

/** A server that says what it is. */
export interface IdentifiedServer {
  readonly name: string;
  /** Resolves when the server has said what it is, or cannot be asked. Never rejects. */
  identify(): Promise<unknown>;
  /** Why it must not be in the list of masters, as far as is known; null: it may be. */
  readonly rejection: Failed | null;
}

/** `report` gets `acquired` only for a lock that is handed out. */
export interface LockRequest extends WaitRequest {
  readonly servers: readonly IdentifiedServer[];
  /** They have been given time to identify themselves before, and are given no more. */
  readonly areServersKnown: boolean;
  /** How long before the end of validity the work has to begin to stop. */
  readonly reserveMs: number;
  /** Why a lock that was acquired is of no use here; null: it is. Absent: it always is. */
  readonly whyUseless?: () => Error | null;
}

/** The least time, from the beginning of the wait, for servers to say what they are. */
const identifyMs = 10;

/**
 * Resolves with the lock, or with why it was not acquired; then nothing is held. Never resolves
 * with a lease for which stopping would be due already. Rejects with what `whyUseless` returns,
 * once the lock is released.
 */
export async function acquireLock(request: LockRequest): Promise<Acquisition> {
  const { redlock, clock, report, servers, waitMs, aborted, reserveMs } = request;
  const beganAt = clock.now();
  for (;;) {
    const leftMs = waitMs === null ? null : Math.max(0, waitMs - (clock.now() - beganAt));
    const acquisition = await waitForLock({ ...request, waitMs: leftMs });
    if (acquisition.kind !== 'acquired') return acquisition;
    const { lease, grantedCount, elapsedMs } = acquisition;
    // A silent server must not delay the work: counted from the beginning of the wait, it has three
    // times as long as the quorum took in the end, and after a longer wait no time any more.
    const identifyUntil = beganAt + identifyMs + 3 * elapsedMs;
    if (!request.areServersKnown) await identify(servers, clock, identifyUntil - clock.now());
    const failures = rejectionsOf(servers);
    const now = clock.now();
    const useless = request.whyUseless?.() ?? null;
    if (failures.length === 0 && useless === null && now < deadlineOf(lease, reserveMs)) {
      report({ kind: 'acquired', grantedCount, elapsedMs, waitMs: now - beganAt });
      return acquisition;
    }
    await redlock.release(lease.claim, 0, null);
    if (failures.length > 0) return { kind: 'misconfigured', failures };
    if (aborted.aborted) return { kind: 'aborted' };
    if (useless !== null) throw useless;
  }
}

/** Resolves when all servers have said what they are, or after this many ms. */
async function identify(
  servers: readonly IdentifiedServer[],
  clock: Clock,
  withinMs: number,
): Promise<void> {
  if (withinMs <= 0) return;
  const enough = new AbortController();
  const all = Promise.all(servers.map((server) => server.identify()));
  await Promise.race([all.then(() => enough.abort()), clock.sleep(withinMs, enough.signal)]);
}

function rejectionsOf(servers: readonly IdentifiedServer[]): MasterFailure[] {
  return servers.flatMap(({ name, rejection }) =>
    rejection ? [{ master: name, failed: rejection }] : [],
  );
}
