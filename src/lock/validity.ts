// The arithmetic of the distlock page, and nothing else: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
// The surprise: it is all integers, and rounding always goes to the side that promises less.

/** Smallest majority of the *configured* masters, whether they answer or not. */
export function quorumOf(masterCount: number): number {
  return Math.floor(masterCount / 2) + 1;
}

/** One percent is a hundred times what an undisturbed quartz clock needs, and twenty times the fastest NTP slew. */
const usualDriftFactor = 0.01;

/**
 * Allowance in ms for clocks that run at different rates, by the given part of the time, and for the rounding of expiry in
 * Redis (1 ms) and here.
 */
export function driftMsOf(ttlMs: number, driftFactor = usualDriftFactor): number {
  return Math.ceil(ttlMs * driftFactor) + 2;
}

/** The instant until which a lease is exclusive. `startedAt` must have been read before the first byte was sent. */
export function validUntilOf(startedAt: number, ttlMs: number, driftFactor?: number): number {
  return startedAt + ttlMs - driftMsOf(ttlMs, driftFactor);
}
