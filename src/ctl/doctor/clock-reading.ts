// A master's clock, read from here: how far it is from ours, and how well that is known. The master
// reads its clock at some moment of a round trip, so of several readings the one with the shortest
// trip is taken, and half of that trip is the uncertainty.

import type { Failed } from '../../lock/types.ts';
import { as, decimal, readReply, tuple } from '../../redis/reply-shapes.ts';
import { isFailed } from '../../redis/trouble.ts';

export interface ClockReading {
  /** By our clock, in ms. */
  readonly at: number;
  /** How far the master's clock was ahead of ours. */
  readonly aheadMs: number;
  /** The true value is within so much of it. */
  readonly uncertaintyMs: number;
}

const readingCount = 5;
/** Servers keep the time of a command, which may be the time at which they read it. */
const cachedMs = 1;

const serverTime = as(
  tuple(decimal(), decimal(0, 999_999)),
  ([seconds, microseconds]) => seconds * 1000 + microseconds / 1000,
);

/**
 * The time of day when this program started, and what has passed since: no step of our own clock is
 * in it.
 */
const steadyNow = () => performance.timeOrigin + performance.now();

/** `askTime` sends TIME. `now`: our clock, in ms. */
export async function readClock(
  askTime: () => Promise<unknown | Failed>,
  now: () => number = steadyNow,
): Promise<{ readonly reading: ClockReading; readonly roundTripsMs: readonly number[] } | Failed> {
  const readings: ClockReading[] = [];
  for (let count = 0; count < readingCount; count += 1) {
    // One look at one clock on either side: whatever holds us up in between is part of the trip.
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
 * How much faster the master's clock runs than ours: 0.01 is one percent. `least` is what is
 * certain of it, towards 0. null: the readings are not in order.
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
