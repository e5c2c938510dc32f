// The property of nested runs that no other checker judges: a nested run is not stopped without
// cause. For the rest they are judged as any holder.

import type { Fact, Witness } from './witness.ts';

/**
 * The enclosing run has at least so much left when a nested run ends, so it was not about to end.
 */
const leftMs = 1;

export const nestedCheckers = {
  /**
   * In calm weather a nested run is not told that the lock is lost while the enclosing run goes on.
   */
  sheltered(fact: Fact, { isCalm, isDeadly, world }: Witness): string | null {
    if (fact.kind !== 'ended' || !isCalm || isDeadly) return null;
    const { name, within, cause } = fact.program;
    if (within === undefined || cause === null) return null;
    const isRefused = ['enclosing-lost', 'unreachable', 'misconfigured'].includes(cause.kind);
    if (cause.kind !== 'lost' && !isRefused) return null;
    const isHeld = within.isBelieved && within.validUntil > world.now + leftMs;
    return isHeld ? `${name} was stopped (${cause.kind}) while ${within.value} was held` : null;
  },
};
