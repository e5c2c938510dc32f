// The property of runs inside of others that no other checker judges: nobody is stopped for nothing. What they may do is judged as that of
// any other holder: their command ends before the validity that they have seen, and before the lock is given back.

import type { Fact, Witness } from './witness.ts';

/** So much of an outer run is left, when an inner one ends, that it was not about to be over itself. */
const leftMs = 1;

export const nestedCheckers = {
  /** In calm weather a run inside of one that goes on is not told that the lock is lost. */
  sheltered(fact: Fact, { isCalm, isDeadly, world }: Witness): string | null {
    if (fact.kind !== 'ended' || !isCalm || isDeadly) return null;
    const { name, within, cause } = fact.program;
    if (within === undefined || cause === null) return null;
    const isRefused = cause.kind === 'not-acquired' && cause.acquisition.kind !== 'aborted';
    if (cause.kind !== 'lost' && !isRefused) return null;
    const isHeld = within.isBelieved && within.validUntil > world.now + leftMs;
    return isHeld ? `${name} was stopped (${cause.kind}) while ${within.value} was held` : null;
  },
};
