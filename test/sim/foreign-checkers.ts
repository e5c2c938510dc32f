// The property of a lock that is shared with foreign programs of the older protocol: no run holds
// it beside one of them, under the assumptions of docs/protocols.md, which fairness.ts repeats.

import type { ForeignHolding } from './foreign-client.ts';
import type { Fact, Holding, Witness } from './witness.ts';

/** Below the precision of every computed time. */
const grainMs = 1e-3;

export const foreignCheckers = {
  /**
   * No run believes in the lock, or has a command under it, while a foreign program holds it by its
   * own clock.
   */
  foreign(fact: Fact, witness: Witness): string | null {
    const soon = witness.world.now + grainMs;
    const isHolding = (one: Holding) =>
      (one.isBelieved && one.validUntil > soon) || one.tree?.isRunning === true;
    const isTheirs = (one: ForeignHolding) => one.isBelieved && one.validUntil > soon;
    if (fact.kind === 'foreign-acquired') {
      const { owner, resource } = fact.holding;
      const ours = [...witness.live()].find(
        (one) => one.resources.includes(resource) && isHolding(one),
      );
      return ours ? `${owner} acquired ${resource} beside ${ours.value}` : null;
    }
    if (fact.kind !== 'acquired' && fact.kind !== 'confirmed' && fact.kind !== 'child-running')
      return null;
    const { holding } = fact;
    const theirs = witness.foreignHoldings.find(
      (one) => holding.resources.includes(one.resource) && isTheirs(one),
    );
    return theirs
      ? `${holding.value} holds ${theirs.resource} beside ${theirs.owner} (${fact.kind})`
      : null;
  },
};
