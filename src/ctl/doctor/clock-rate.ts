// How far a master's clock is from this machine's, and how exactly that is known. The master reads
// its clock at some moment of the round trip, so the reading with the shortest round trip counts,
// and half of that trip is its uncertainty.

import { defaultDriftFactor } from '../../lock/quorum.ts';
import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import { as, decimal, readReply, tuple } from '../../redis/replies.ts';

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
  const roundTripsMs: number[] = [];
  while (readings.length < readingCount) {
    // One reading on either side: every delay in between is part of the round trip.
    const sentAt = now();
    const reply = await askTime();
    const roundTripMs = now() - sentAt;
    if (isFailed(reply)) return reply;
    const masterMs = readReply(serverTime, reply);
    if (isFailed(masterMs)) return masterMs;
    const at = sentAt + roundTripMs / 2;
    readings.push({ at, aheadMs: masterMs - at, uncertaintyMs: roundTripMs / 2 + cachedMs });
    roundTripsMs.push(roundTripMs);
  }
  const [reading] = readings.toSorted((a, b) => a.uncertaintyMs - b.uncertaintyMs);
  return { reading: reading as ClockReading, roundTripsMs };
}

export interface ClockRate {
  /** How much faster the master's clock runs than this machine's: 0.01 is one percent. */
  readonly rate: number;
  /** The part of it that is certain. */
  readonly certain: number;
}

/** A rate below this is harmless: half of the drift allowance. */
export const tolerableRate = defaultDriftFactor / 2;

/**
 * From readings in their order. null: the clock was set in between. A clock that was set shows
 * another rate once, one that runs at another rate each time.
 */
export function rateOf(readings: readonly ClockReading[]): ClockRate | null {
  const rates = readings
    .slice(1)
    .map((last, at) => rateBetween(readings[at] as ClockReading, last));
  const off = rates.filter(({ certain }) => Math.abs(certain) >= tolerableRate);
  const isEachOff = off.length === rates.length;
  const isOneWay = off.every(
    ({ certain }) => Math.sign(certain) === Math.sign(off[0]?.certain ?? 0),
  );
  if (off.length > 0 && !(isEachOff && isOneWay)) return null;
  const [smallest] = rates.toSorted((a, b) => Math.abs(a.certain) - Math.abs(b.certain));
  return smallest ?? { rate: 0, certain: 0 };
}

function rateBetween(first: ClockReading, last: ClockReading): ClockRate {
  const rate = (last.aheadMs - first.aheadMs) / (last.at - first.at);
  const uncertainty = (first.uncertaintyMs + last.uncertaintyMs) / (last.at - first.at);
  return { rate, certain: Math.sign(rate) * Math.max(0, Math.abs(rate) - uncertainty) };
}
