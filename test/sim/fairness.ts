// Whether a world keeps the assumptions of the lock, judged by its options and not by the name of
// its profile. Delays, losses, partitions, restarts that forget nothing, and any number of dead
// programs break no assumption.

import { defaultDriftFactor, driftMsOf } from '../../src/lock/quorum.ts';
import { guardSlackMsOf } from '../../src/lock/timings.ts';
import type { Options } from './options.ts';

/**
 * docs/protocols.md: how far clocks may differ in the older protocol, less the time of messages.
 */
const toleratedMs = 900;
/** The same: by how much the times of other programs must be longer than the ttl. */
const longerMs = 3_000;

/** One line for each broken assumption; none for a fair world. */
export function unfairnessOf(options: Options): string[] {
  const { ttlMs, marginMs, clientDrift, masterDrift, downMs } = options;
  const rateRatio = (1 + masterDrift) / (1 - clientDrift);
  const isForgetful = options.restartEveryMs !== null && options.memory !== 'all';
  const isStopped =
    options.pauseEveryMs !== null && options.arePausedTogether && options.pauseMs > marginMs / 2;
  const isAsleep =
    options.suspendEveryMs !== null &&
    // How much later than redlock-run the guard acts; the command takes a moment to die.
    options.suspendMs > marginMs - guardSlackMsOf(marginMs) - marginMs / 8;
  const breaches: [boolean, string][] = [
    [
      rateRatio > ttlMs / (ttlMs - driftMsOf(ttlMs, defaultDriftFactor)),
      'clocks run at rates further apart than the drift allows for',
    ],
    [options.masterStepEveryMs !== null, 'the clock of a master is set'],
    [options.evictEveryMs !== null, 'masters evict keys'],
    [isForgetful && options.restartGraceMs < ttlMs, 'masters come back empty and vote at once'],
    [
      isForgetful && options.wallSpreadMs > downMs.least,
      "masters' clocks disagree by more than a restart takes",
    ],
    [
      options.failoverEveryMs !== null && options.restartGraceMs < ttlMs,
      'a replica that lags votes at once',
    ],
    [
      options.failoverEveryMs !== null && !options.isPromotionTold,
      'a server that lags takes over an address and does not tell',
    ],
    [
      options.isDurable && options.startTroubles.includes('denies marks'),
      'masters come back empty, say that they keep everything, and allow no marks',
    ],
    [options.rosterChange === 'at-once', 'two lists of masters have quorums without a common one'],
    [isStopped, 'programs stop for longer than the margin, and both their guards with them'],
    [isAsleep, 'machines sleep for longer than the margin'],
    [options.isListedTwice, 'one server is listed twice and cannot be told'],
    [
      options.foreignSkewMs > toleratedMs,
      'the clocks of other programs differ by more than a second',
    ],
    [
      options.foreignCount > 0 && options.foreignTtlMs < ttlMs + longerMs,
      'other programs write times that are over as soon as our lease',
    ],
  ];
  return breaches.flatMap(([isBroken, what]) => (isBroken ? [what] : []));
}
