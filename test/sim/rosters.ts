// The list of masters of each machine. It may grow from three to five: one master at a time, by the
// procedure of docs/masters.md, or both at once, which that page warns of. Or machines have one of
// two lists for good, and names of their own for their locks, where the lists do not exclude each
// other: then no lock has two holders, and every run is to be told of it all the same.

import { quorumOf } from '../../src/lock/quorum.ts';
import type { Machine } from './machine.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';
import type { SimServer } from './sim-server.ts';
import type { Wish } from './wish.ts';
import type { KnownProgram, Witness } from './witness.ts';
import type { World } from './world.ts';

export type RosterChange = 'none' | 'one-by-one' | 'at-once' | 'two-lists';

export const firstCount = 3;
/** Between two looks whether a run is left that began with the list before. */
const lookMs = 50;

/** Of two lists for good, by the numbers of the masters: those of some machines, of the others. */
const pairs: readonly (readonly [readonly number[], readonly number[]])[] = [
  [
    [0, 1, 2],
    [2, 0, 1],
  ],
  [
    [0, 1, 2],
    [0, 1, 2, 3],
  ],
  [
    [0, 1, 2, 3, 4],
    [4, 2, 1, 0],
  ],
  [
    [0, 1, 2],
    [0, 3, 4],
  ],
  [
    [0, 1, 2],
    [1, 2, 3],
  ],
  [
    [0, 1, 2],
    [0, 1, 2, 3, 4],
  ],
];

type Servers = readonly SimServer[];

/** Whether masters come in that were not used before. */
export function isGrowing({ rosterChange }: Pick<Options, 'rosterChange'>): boolean {
  return rosterChange === 'one-by-one' || rosterChange === 'at-once';
}

/**
 * Whether both could grant a lock at once. As in master-lists.ts, written a second time: there are
 * masters enough for a quorum of each that has none of the other.
 */
export function areApart(one: Servers, other: Servers): boolean {
  const all = new Set([...one, ...other]);
  return quorumOf(one.length) + quorumOf(other.length) <= all.size;
}

/** A list that a machine has had, since when, in true time. */
interface Listed {
  readonly since: number;
  readonly servers: Servers;
}

export class Rosters {
  readonly #world: World;
  readonly #random: Random;
  readonly #witness: Witness;
  readonly #machines: readonly Machine[];
  readonly #spreadMs: number;
  /** The lists of each machine, the last one at the end. */
  readonly #lists = new Map<Machine, Listed[]>();

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
    if (rosterChange === 'two-lists') this.#divide();
    else {
      for (const machine of machines) this.#give(machine, witness.servers.slice(0, firstCount));
      const next = rosterChange === 'one-by-one' ? firstCount + 1 : witness.servers.length;
      this.#world.after(this.#random.between(0, 1_000), () => this.#change(next));
    }
  }

  /** `all`: the masters where no list changes. */
  of(machine: Machine, all: Servers): Servers {
    const servers = this.#lists.get(machine)?.at(-1)?.servers;
    if (servers === undefined) return all;
    const others = this.#witness.programs.some(
      ({ endedAt, endpoints }) => endedAt === null && endpoints.length !== servers.length,
    );
    if (others) this.#world.mark('runs with two lists of masters');
    return servers;
  }

  /**
   * Whether the two machines have had lists that are apart, since the machine `ours` has its own.
   */
  wereApart(ours: Machine, host: string): boolean {
    const own = this.#lists.get(ours)?.at(-1);
    const other = this.#machines.find(({ name }) => name === host);
    const theirs = (other && this.#lists.get(other)) ?? [];
    if (own === undefined) return false;
    return theirs.some(({ servers }, at) => {
      const until = theirs[at + 1]?.since ?? Number.POSITIVE_INFINITY;
      return until > own.since && areApart(own.servers, servers);
    });
  }

  /** Machines whose lists are apart never want one lock. */
  wishOf(machine: Machine, wish: Wish): Wish {
    const list = this.#lists.get(machine)?.at(-1)?.servers ?? [];
    const first = [...this.#lists.values()][0]?.at(-1)?.servers ?? [];
    if (!areApart(list, first)) return wish;
    return { ...wish, resources: wish.resources.map((resource) => `${resource}'`) };
  }

  #give(machine: Machine, servers: Servers): void {
    const lists = this.#lists.get(machine) ?? [];
    this.#lists.set(machine, [...lists, { since: this.#world.now, servers }]);
    this.#world.note(machine.name, `lists ${servers.map(({ name }) => name).join(' ')}`);
  }

  #divide(): void {
    const pair = this.#random.pick(pairs);
    for (const [at, machine] of this.#machines.entries()) {
      const numbers = pair[at % 2] ?? [];
      this.#give(
        machine,
        numbers.flatMap((number) => this.#witness.servers[number] ?? []),
      );
    }
  }

  #change(count: number): void {
    for (const machine of this.#machines) {
      this.#world.after(this.#random.between(0, this.#spreadMs), () =>
        this.#give(machine, this.#witness.servers.slice(0, count)),
      );
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
  #isLeft({ endedAt, endpoints, values }: KnownProgram, count: number): boolean {
    if (endpoints.length >= count) return false;
    const stands = (value: string) =>
      this.#witness.servers.some(({ redis }) => redis.hasTraceOf(value));
    return endedAt === null || values.some(stands);
  }
}
