// The freezes of a world: since when each was told to stand, and until a thaw of it began. The
// checker: no program that had no grant before is granted a lock while it is frozen.

import type { Fact, Witness } from './witness.ts';
import type { World } from './world.ts';

interface KnownFreeze {
  readonly resource: string;
  readonly value: string;
  /** In true time. */
  readonly since: number;
  until: number;
}

export class Freezes {
  readonly #world: World;
  readonly #all: KnownFreeze[] = [];
  /** A thaw may have begun before the freeze was told to stand. */
  readonly #ended = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  began(resource: string, value: string): void {
    if (this.#ended.has(value)) return;
    const since = this.#world.now;
    this.#all.push({ resource, value, since, until: Number.POSITIVE_INFINITY });
  }

  ends(value: string): void {
    this.#ended.add(value);
    for (const freeze of this.#all)
      if (freeze.value === value) freeze.until = Math.min(freeze.until, this.#world.now);
  }

  /** The freeze that stood for the whole of this time; null: none did. */
  over(resources: readonly string[], from: number, to: number): string | null {
    const freeze = this.#all.find(
      ({ resource, since, until }) => resources.includes(resource) && since <= from && until > to,
    );
    return freeze?.value ?? null;
  }
}

export const freezeCheckers = {
  /** A run that was first granted after the freeze stood does not get the lock before the thaw. */
  barred(fact: Fact, { freezes, firstGrantAt, world }: Witness): string | null {
    if (fact.kind !== 'acquired') return null;
    const { value, resources } = fact.holding;
    const freeze = freezes.over(resources, firstGrantAt.get(value) ?? world.now, world.now);
    return freeze === null ? null : `${value} got a lock that ${freeze} has frozen`;
  },
};
