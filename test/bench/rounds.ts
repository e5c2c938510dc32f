// Contestants measured in turns, and their table. The ratio of a contestant is the median of its
// ratios to the first one within each round, not the ratio of two medians, so that drift cancels
// out.

export interface Contestant {
  readonly name: string;
  /** One measurement, in ms. */
  readonly measure: () => Promise<number>;
}

export interface Row {
  readonly ratio: string;
  readonly 'median ms': string;
  readonly 'fastest ms': string;
  readonly 'p99 ms': string;
}

/** The first contestant is the reference. */
export async function inTurns(
  contestants: readonly Contestant[],
  roundCount: number,
): Promise<Record<string, Row>> {
  const times = await timesInTurns(contestants, roundCount);
  const floor = times[0] ?? [];
  return Object.fromEntries(
    contestants.map(({ name }, index) => {
      const own = times[index] ?? [];
      const show = (ms: number) => ms.toFixed(2);
      const row = {
        'median ms': show(quantile(own, 0.5)),
        'fastest ms': show(Math.min(...own)),
        'p99 ms': show(quantile(own, 0.99)),
      };
      return [name, { ratio: ratioOf(own, floor).toFixed(2), ...row }];
    }),
  );
}

/** The times of each contestant in ms, round by round, without a first round to warm up. */
export async function timesInTurns(
  contestants: readonly Contestant[],
  roundCount: number,
): Promise<number[][]> {
  const times = contestants.map((): number[] => []);
  for (let round = -1; round < roundCount; round += 1) {
    for (const [index, { measure }] of contestants.entries()) {
      const ms = await measure();
      if (round >= 0) times[index]?.push(ms);
    }
  }
  return times;
}

/** The median of the ratios within each round. */
export function ratioOf(times: readonly number[], floor: readonly number[]): number {
  return quantile(
    times.map((ms, round) => ms / (floor[round] ?? ms)),
    0.5,
  );
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
