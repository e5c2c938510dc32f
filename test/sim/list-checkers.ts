// What runs are told of hosts whose lists of masters could grant a lock beside theirs: all that
// their masters know, once, and nothing else.

import type { Fact, KnownProgram, Witness } from './witness.ts';

export type ListFact =
  /** A run is warned of that host, or rejected. */
  | { readonly kind: 'lists-told'; readonly program: KnownProgram; readonly host: string }
  /** A run has extended its lock, and told by then what it could tell of lists. */
  | { readonly kind: 'lists-compared'; readonly program: KnownProgram };

/** Longer than a message takes where nothing disturbs it. */
const arrivedMs = 100;

export class ComparedLists {
  readonly #comparedAt = new Map<KnownProgram, number>();
  readonly #warned = new Set<KnownProgram>();

  compared(program: KnownProgram, now: number): void {
    if (!this.#comparedAt.has(program)) this.#comparedAt.set(program, now);
  }

  warned(program: KnownProgram): void {
    this.#warned.add(program);
  }

  hasWarned(program: KnownProgram): boolean {
    return this.#warned.has(program);
  }

  /** The other hosts whose runs had told a master of this one their list before it began. */
  knownTo({ machine, endpoints, startedAt }: KnownProgram): string[] {
    const servers = new Set(endpoints.map(({ server }) => server));
    return [...this.#comparedAt]
      .filter(([other, at]) => {
        const isKnown = other.endpoints.some(({ server }) => servers.has(server));
        return isKnown && other.machine !== machine && at + arrivedMs < startedAt;
      })
      .map(([other]) => other.machine.name);
  }
}

export const listCheckers = {
  /**
   * A run is told of a host only where the lists of both could grant one lock twice: never for a
   * master that is down, that was replaced, or that is one more. In undisturbed worlds it is told
   * of such a host by its first extension.
   */
  listsTold(fact: Fact, { lists, rosters, isAllTold, world }: Witness): string | null {
    if (fact.kind !== 'lists-told' && fact.kind !== 'lists-compared') return null;
    const { program } = fact;
    const { name, machine } = program;
    const wasWarned = lists.hasWarned(program);
    if (fact.kind === 'lists-told') {
      lists.warned(program);
      if (wasWarned) return `${name} is told of ${fact.host} after it was told before`;
      const isSo = rosters?.wereApart(machine, fact.host);
      return isSo ? null : `${name} is told of ${fact.host}, whose list shares every quorum`;
    }
    lists.compared(program, world.now);
    if (!isAllTold || wasWarned) return null;
    const host = lists.knownTo(program).find((one) => rosters?.wereApart(machine, one));
    return host === undefined ? null : `${name} is not told of ${host}`;
  },
};
