// How far a master's clock is from this machine's, and how exactly that is known. The master reads
// its clock at some moment of the round trip, so the reading with the shortest round trip counts,
// and half of that trip is its uncertainty.

import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import { as, decimal, readReply, tuple } from '../../redis/reply-shapes.ts';

export interface ClockReading {
  /** By the clock of this machine, in ms. */
  readonly at: number;
  /** How far the master's clock was ahead of it. */
  readonly aheadMs: number;
  /** The true value is at most this far from `aheadMs`. */
  readonly uncertaintyMs: number;
}

const readingCount = 5;
/** TIME may answer with the time at which the server began to read the command. */
const cachedMs = 1;

const serverTime = as(
  tuple(decimal(), decimal(0, 999_999)),
  ([seconds, microseconds]) => seconds * 1000 + microseconds / 1000,
);

/**
 * The time of day when this program started, plus the time since then: steps of the machine's clock
 * do not change it.
 */
const steadyNow = () => performance.timeOrigin + performance.now();

/** `askTime` sends TIME. `now`: the clock of this machine, in ms. */
export async function readClock(
  askTime: () => Promise<unknown | Failed>,
  now: () => number = steadyNow,
): Promise<{ readonly reading: ClockReading; readonly roundTripsMs: readonly number[] } | Failed> {
  const readings: ClockReading[] = [];
  for (let count = 0; count < readingCount; count += 1) {
    // One reading on either side: every delay in between is part of the round trip.
    const sentAt = now();
    const reply = await askTime();
    const answeredAt = now();
    if (isFailed(reply)) return reply;
    const masterMs = readReply(serverTime, reply);
    if (isFailed(masterMs)) return masterMs;
    const at = (sentAt + answeredAt) / 2;
    readings.push({
      at,
      aheadMs: masterMs - at,
      uncertaintyMs: (answeredAt - sentAt) / 2 + cachedMs,
    });
  }
  const [reading] = [...readings].sort((a, b) => a.uncertaintyMs - b.uncertaintyMs) as [
    ClockReading,
  ];
  return {
    reading,
    roundTripsMs: readings.map(({ uncertaintyMs }) => (uncertaintyMs - cachedMs) * 2),
  };
}

/**
 * How much faster the master's clock runs than this machine's: 0.01 is one percent. `least` is the
 * part of it that is certain. null: the readings are not in order.
 */
export function rateOf([first, last]: readonly ClockReading[]): {
  readonly rate: number;
  readonly least: number;
} | null {
  if (first === undefined || last === undefined || last.at <= first.at) return null;
  const rate = (last.aheadMs - first.aheadMs) / (last.at - first.at);
  const doubt = (first.uncertaintyMs + last.uncertaintyMs) / (last.at - first.at);
  return { rate, least: Math.sign(rate) * Math.max(0, Math.abs(rate) - doubt) };
}
