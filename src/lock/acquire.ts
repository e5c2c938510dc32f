// Acquires a lock and makes sure that it can be used: the servers are what they have to be, the
// caller is ready for the lease, and there is still time. Otherwise the lock is released and, where
// that may help, acquired again. redlock-run, the library and the simulator run this.

import { deadlineOf } from './lease-keeper.ts';
import type { Clock, Report } from './ports.ts';
import type { Claim, Failed, Lease, MasterFailure } from './types.ts';
import type { Acquisition } from './wait.ts';

/** A server that says what it is. */
export interface IdentifiedServer {
  readonly name: string;
  /** Resolves when the server has said what it is, or cannot be asked. Never rejects. */
  identify(): Promise<unknown>;
  /** Why it must not be in the list of masters, as far as is known; null: it may be. */
  readonly rejection: Failed | null;
}

export interface AcquireParts {
  readonly clock: Clock;
  /** Told when the lock is acquired for good: whatever has been told has a holder and an end. */
  readonly report: Report;
  readonly servers: readonly IdentifiedServer[];
  /** Waits for the lock once, for so many ms at most; null: for ever. */
  readonly wait: (waitMs: number | null) => Promise<Acquisition>;
  readonly release: (claim: Claim) => Promise<unknown>;
  /** Resolves when work may start under the lease: null, or why it cannot. */
  readonly ready: (lease: Lease) => Promise<string | null>;
}

export interface AcquireLimits {
  /** null: for ever. */
  readonly waitMs: number | null;
  readonly aborted: AbortSignal;
  /** How long before the end of validity the work has to begin to stop. */
  readonly reserveMs: number;
  /** Whether servers that were not needed for the quorum are given time to say what they are. */
  readonly isIdentifying: boolean;
}

/** Acquired, and released because the work cannot start; `why` is for people. */
export interface NotReady {
  readonly kind: 'not-ready';
  readonly why: string;
}

/** The least time, from the beginning of the wait, for servers to say what they are. */
const identifyMs = 10;

/**
 * Resolves with the lock, or with why it was not acquired; then nothing is held. Never resolves
 * with a lease for which stopping would be due already.
 */
export async function acquire(
  parts: AcquireParts,
  limits: AcquireLimits,
): Promise<Acquisition | NotReady> {
  const { clock, report, servers, wait, release, ready } = parts;
  const { waitMs, aborted, reserveMs, isIdentifying } = limits;
  const beganAt = clock.now();
  for (;;) {
    const leftMs = waitMs === null ? null : Math.max(0, waitMs - (clock.now() - beganAt));
    const acquisition = await wait(leftMs);
    if (acquisition.kind !== 'acquired') return acquisition;
    const { lease, grantedCount, elapsedMs } = acquisition;
    // A silent server must not delay the work: counted from the beginning of the wait, it has three
    // times as long as the quorum took in the end, and after a longer wait no time any more.
    const identifyUntil = beganAt + identifyMs + 3 * elapsedMs;
    const [why] = await Promise.all([
      unlessAborted(ready(lease), aborted),
      isIdentifying ? identify(servers, clock, identifyUntil - clock.now()) : null,
    ]);
    const failures = rejectionsOf(servers);
    const now = clock.now();
    const isInTime = now < deadlineOf(lease, reserveMs);
    if (failures.length === 0 && why === null && isInTime) {
      report({ kind: 'acquired', grantedCount, elapsedMs, waitMs: now - beganAt });
      return acquisition;
    }
    await release(lease.claim);
    if (failures.length > 0) return { kind: 'misconfigured', failures };
    if (aborted.aborted) return { kind: 'aborted' };
    if (why !== null) return { kind: 'not-ready', why };
  }
}

/** Resolves when all servers have said what they are, or after so many ms. */
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

function unlessAborted(
  whyNotReady: Promise<string | null>,
  aborted: AbortSignal,
): Promise<string | null> {
  const given = new Promise<string>((resolve) => {
    const stop = () => resolve('told to stop waiting');
    if (aborted.aborted) stop();
    aborted.addEventListener('abort', stop, { once: true });
    void whyNotReady.then(() => aborted.removeEventListener('abort', stop));
  });
  return Promise.race([whyNotReady, given]);
}
