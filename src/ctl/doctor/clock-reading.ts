// A master's clock, read from here: how far it is from ours, and how well that is known. The surprise: of several readings the one with the
// shortest round trip is taken, because the answer was given at some moment in it, and nobody knows at which.

import type { Failed } from '../../lock/ports.ts';
import type { Connection } from '../../redis/connection.ts';
import { isFailed } from '../../redis/trouble.ts';

export interface ClockReading {
  /** By our wall clock, in ms. */
  readonly at: number;
  /** How far the master's clock was ahead of ours. */
  readonly aheadMs: number;
  /** The true value is within so much of it. */
  readonly uncertaintyMs: number;
}

const readingCount = 5;

export async function readClock(
  connection: Connection,
): Promise<{ readonly reading: ClockReading; readonly roundTripsMs: readonly number[] } | Failed> {
  const readings: ClockReading[] = [];
  for (let count = 0; count < readingCount; count += 1) {
    const [sentAt, began] = [Date.now(), performance.now()];
    const reply = await connection.call('TIME');
    const tripMs = performance.now() - began;
    if (isFailed(reply)) return reply;
    const [seconds, microseconds] = (reply as string[]).map(Number) as [number, number];
    const at = sentAt + tripMs / 2;
    readings.push({ at, aheadMs: seconds * 1000 + microseconds / 1000 - at, uncertaintyMs: tripMs / 2 + 1 });
  }
  const [reading] = [...readings].sort((a, b) => a.uncertaintyMs - b.uncertaintyMs) as [ClockReading];
  return { reading, roundTripsMs: readings.map(({ uncertaintyMs }) => (uncertaintyMs - 1) * 2) };
}

/**
 * How much faster the master's clock runs than ours: 0.01 is one percent. `least` is what is certain of it, towards 0.
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
