// The list of masters of each machine, where it grows from three to five: one master at a time, by
// the procedure of docs/masters.md, or both at once, which that page warns of.

import type { Machine } from './machine.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';
import type { SimServer } from './sim-server.ts';
import type { ProgramRecord, Witness } from './witness.ts';
import type { World } from './world.ts';

export type RosterChange = 'none' | 'one-by-one' | 'at-once';

const firstCount = 3;
/** Between two looks whether a run is left that began with the list before. */
const lookMs = 50;

export class Rosters {
  readonly #world: World;
  readonly #random: Random;
  readonly #witness: Witness;
  readonly #machines: readonly Machine[];
  readonly #spreadMs: number;
  /** How many of the masters are on the list of each machine. */
  readonly #counts = new Map<Machine, number>();

  constructor(
    witness: Witness,
    machines: readonly Machine[],
    { rosterChange, listSpreadMs }: Pick<Options, 'rosterChange' | 'listSpreadMs'>,
  ) {
    this.#world = witness.world;
    this.#witness = witness;
    this.#machines = machines;
    this.#spreadMs = listSpreadMs;
    this.#random = witness.world.random.stream('rosters');
    if (rosterChange === 'none') return;
    for (const machine of machines) this.#counts.set(machine, firstCount);
    const next = rosterChange === 'one-by-one' ? firstCount + 1 : witness.servers.length;
    this.#world.after(this.#random.between(0, 1_000), () => this.#change(next));
  }

  /** `all`: the masters where no list changes. */
  of(machine: Machine, all: readonly SimServer[]): readonly SimServer[] {
    const count = this.#counts.get(machine);
    if (count === undefined) return all;
    const others = this.#witness.programs.some(
      ({ endedAt, endpoints }) => endedAt === null && endpoints.length !== count,
    );
    if (others) this.#world.mark('runs with two lists of masters');
    return all.slice(0, count);
  }

  #change(count: number): void {
    for (const machine of this.#machines) {
      this.#world.after(this.#random.between(0, this.#spreadMs), () => {
        this.#counts.set(machine, count);
        this.#world.note(machine.name, `has a list of ${count} masters`);
      });
    }
    if (count < this.#witness.servers.length)
      this.#world.after(this.#spreadMs, () => this.#whenNoneIsLeft(count));
  }

  #whenNoneIsLeft(count: number): void {
    const isLeft = this.#witness.programs.some((program) => this.#isLeft(program, count));
    if (isLeft) this.#world.after(lookMs, () => this.#whenNoneIsLeft(count));
    else {
      this.#world.mark('next list of masters');
      this.#change(count + 1);
    }
  }

  /** As `redlockctl list` shows it: its lock stands, though it may have died. */
  #isLeft({ endedAt, endpoints, values }: ProgramRecord, count: number): boolean {
    if (endpoints.length >= count) return false;
    const stands = (value: string) =>
      this.#witness.servers.some(({ redis }) => redis.hasTraceOf(value));
    return endedAt === null || values.some(stands);
  }
}
