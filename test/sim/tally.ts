// The results of many runs, as lines for people. It is fed rows, because the outcomes come from
// other processes and may have logs of a hundred thousand lines.

import { isFair, type Profile } from './profiles.ts';
import type { Outcome } from './simulate.ts';

export interface Row {
  readonly profile: Profile;
  readonly seed: number;
  readonly properties: readonly string[];
  readonly first: string | null;
  readonly eventCount: number;
  readonly acquisitionCount: number;
  readonly marks: readonly (readonly [string, number])[];
}

export class Tally {
  readonly #commit: string;
  readonly #say: (line: string) => void;
  readonly #rows: Row[] = [];
  readonly #beganAt = performance.now();

  constructor(commit: string, say: (line: string) => void) {
    this.#commit = commit;
    this.#say = say;
  }

  static rowOf({ profile, seed, findings, eventCount, acquisitionCount, marks }: Outcome): Row {
    const [first] = findings;
    return {
      profile,
      seed,
      properties: [...new Set(findings.map(({ property }) => property))],
      first: first ? `${first.property} at ${first.at.toFixed(1)} ms: ${first.text}` : null,
      eventCount,
      acquisitionCount,
      marks: [...marks],
    };
  }

  /** Reports every finding in a fair world, and the first one in each hostile world. */
  add(row: Row): void {
    const { profile, seed, first } = row;
    const isTold =
      first !== null &&
      (isFair(profile) || !this.#rows.some((one) => one.profile === profile && one.first));
    this.#rows.push(row);
    if (!isTold) return;
    const title = isFair(profile) ? `FAILED ${profile}` : `as it should, ${profile}`;
    const replay = `npm run sim -- --profile ${profile} --seed ${seed} --log`;
    this.#say(`${title}, seed ${seed}, commit ${this.#commit}: ${first}; again by: ${replay}`);
  }

  /** Fair runs in which a checker fired. */
  get unfair(): readonly Row[] {
    return this.#rows.filter(({ profile, first }) => isFair(profile) && first !== null);
  }

  hasFired(profile: Profile, properties: readonly string[]): boolean {
    return this.#rows.some(
      (row) => row.profile === profile && row.properties.some((name) => properties.includes(name)),
    );
  }

  summary(): string[] {
    const lines = [...new Set(this.#rows.map(({ profile }) => profile))].map((profile) =>
      this.#lineOf(profile),
    );
    const seconds = (performance.now() - this.#beganAt) / 1000;
    const eventCount = sum(this.#rows.map((row) => row.eventCount));
    const runsPerSecond = (this.#rows.length / seconds).toFixed(1);
    const speed = `${Math.round(eventCount / seconds)} events/s, ${runsPerSecond} runs/s`;
    return [
      ...lines,
      this.#marks(),
      `${this.#rows.length} runs, ${eventCount} events in ${seconds.toFixed(1)} s: ${speed}`,
    ];
  }

  #lineOf(profile: Profile): string {
    const rows = this.#rows.filter((row) => row.profile === profile);
    const counts = new Map<string, number>();
    for (const name of rows.flatMap(({ properties }) => properties))
      counts.set(name, (counts.get(name) ?? 0) + 1);
    const fired =
      [...counts].map(([name, count]) => `${name} in ${count}`).join(', ') || 'nothing found';
    const acquired = sum(rows.map(({ acquisitionCount }) => acquisitionCount));
    const runs = `${String(rows.length).padStart(6)} runs`;
    return `${profile.padEnd(32)} ${runs} ${String(acquired).padStart(8)} acquired  ${fired}`;
  }

  #marks(): string {
    const marks = new Map<string, number>();
    for (const [name, count] of this.#rows.flatMap((row) => row.marks))
      marks.set(name, (marks.get(name) ?? 0) + count);
    return `what happened: ${[...marks]
      .sort()
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
