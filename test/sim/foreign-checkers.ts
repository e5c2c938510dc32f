// The property of a lock that is shared with programs of others, which speak the older protocol: none of ours holds it beside one of them.
// Under the assumptions of docs/protocols.md, which fairness.ts repeats.

import type { ForeignHolding } from './foreign-client.ts';
import type { Fact, Holding, Witness } from './witness.ts';

/** Below the precision of anything that is computed here. */
const grainMs = 1e-3;

export const foreignCheckers = {
  /** Nobody of ours believes that he holds the lock, or has a command under it, while a program of others holds it by its own clock. */
  foreign(fact: Fact, witness: Witness): string | null {
    const soon = witness.world.now + grainMs;
    const isHolding = (one: Holding) =>
      (one.isBelieved && one.validUntil > soon) || one.tree?.isRunning === true;
    const isTheirs = (one: ForeignHolding) => one.isBelieved && one.validUntil > soon;
    if (fact.kind === 'foreign-acquired') {
      const { who, resource } = fact.holding;
      const ours = [...witness.live()].find(
        (one) => one.resources.includes(resource) && isHolding(one),
      );
      return ours ? `${who} acquired ${resource} beside ${ours.value}` : null;
    }
    if (fact.kind !== 'acquired' && fact.kind !== 'proven' && fact.kind !== 'child-running')
      return null;
    const { holding } = fact;
    const theirs = witness.foreignHoldings.find(
      (one) => holding.resources.includes(one.resource) && isTheirs(one),
    );
    return theirs
      ? `${holding.value} holds ${theirs.resource} beside ${theirs.who} (${fact.kind})`
      : null;
  },
};
