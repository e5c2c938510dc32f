// The properties of those who wait for a lock that others may hold together, and of those who give way: everybody is served in his turn,
// the newest goes first where it was agreed, and nobody is stopped for nothing. The surprise: that a writer is served where readers come
// and go is judged by who came when, and not by the queues, which a mistake might have left empty.

import { quorumOf } from '../../src/lock/validity.ts';
import { parseWaiterId } from '../../src/lock/waiter-id.ts';
import { waitingOnQuorum } from './waiting-checkers.ts';
import { areOpposed, haveCommon } from './wish.ts';
import type { Fact, Holding, ProgramRecord, Witness } from './witness.ts';

/** Until whoever has to wait has a place on all masters of a calm network. */
const joinedMs = 300;
/** From the arrival of one who wants it at once until the holder has been told, and from his end until the other has it. */
const noticeMs = 400;

export const formCheckers = {
  /** In calm weather, where the masters' clocks agree, nobody waits in vain while others who came later get what he waits for. */
  served(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'ended' || !isJudged(witness)) return null;
    const { program } = fact;
    const { cause } = program;
    if (cause?.kind !== 'not-acquired' || cause.acquisition.kind !== 'busy') return null;
    for (const other of witness.programs) {
      const cameLater = other.startedAt > program.startedAt + joinedMs;
      if (!cameLater || !areOpposed(program.wish, other.wish) || bothYield(program, other)) continue;
      const holding = heldBy(other, witness);
      if (holding && holding.acquiredAt < witness.world.now - joinedMs)
        return `${program.name} got nothing, and ${holding.value} did, who came later`;
    }
    return null;
  },

  /** Of those who give way, nobody gets it past a newer one; in calm weather, not after him either. */
  newest(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'acquired') return null;
    const { value, resources, lease } = fact.holding;
    const { yields, waiter } = lease.claim;
    if (yields === 'never' || waiter === null) return null;
    for (const resource of resources) {
      const isNewer = ({ id, arrival }: { id: string; arrival: number }) =>
        arrival > waiter.arrivalUs && parseWaiterId(id).traits.includes('newest');
      const newer = waitingOnQuorum(witness, resource, fact.holding, isNewer);
      if (newer !== null) return `${value} acquired ${resource} although ${newer} had come after it`;
    }
    if (!isJudged(witness)) return null;
    for (const earlier of witness.holdings.values()) {
      const { claim } = earlier.lease;
      if (claim.yields === 'never' || claim.waiter === null || !haveCommon(earlier, fact.holding)) continue;
      if (claim.waiter.arrivalUs > waiter.arrivalUs)
        return `${value} acquired after ${earlier.value}, who had come after it`;
    }
    return null;
  },

  /** Nobody is stopped but for one who is newer, asks for it, waits on a quorum, and could not stand beside him. */
  replaced(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'replaced') return null;
    const { program, by } = fact;
    const { servers, programs, masterCount } = witness;
    const other = programs.find(({ waiterId }) => waiterId === by);
    if (program.wish.yields !== 'lock') return `${program.name} was stopped, and would not be`;
    if (other?.wish.yields !== 'lock') return `${program.name} was stopped for ${by}, who does not ask for it`;
    if (!areOpposed(program.wish, other.wish))
      return `${program.name} was stopped for ${by}, who could stand beside it`;
    const seenBy = servers.filter(({ redis }) => redis.everWaited.has(by));
    if (seenBy.length < quorumOf(masterCount))
      return `${program.name} was stopped for ${by}, who waits on ${seenBy.length}`;
    return null;
  },

  /** In calm weather whoever would give it up has done so as soon as his command could be stopped. */
  replacement(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'released' || !isJudged(witness)) return null;
    const { value, sharing, acquiredAt, lease } = fact.holding;
    if (lease.claim.yields !== 'lock' || sharing.kind !== 'exclusive') return null;
    const { now } = witness.world;
    const latestAt = now - noticeMs - witness.stopMs;
    const asker = witness.programs.find(({ wish, startedAt, endedAt }) => {
      const hasAsked = startedAt > acquiredAt && startedAt < latestAt && (endedAt ?? now) > startedAt + joinedMs;
      return hasAsked && wish.yields === 'lock' && haveCommon(wish, fact.holding);
    });
    return asker ? `${value} kept from ${asker.name} what it had agreed to give up` : null;
  },
};

function isJudged({ isCalm, isDeadly, isPunctual }: Witness): boolean {
  return isCalm && !isDeadly && isPunctual;
}

function bothYield(one: ProgramRecord, other: ProgramRecord): boolean {
  return one.wish.yields !== 'never' && other.wish.yields !== 'never';
}

function heldBy({ values }: ProgramRecord, { holdings }: Witness): Holding | null {
  const value = values.find((one) => holdings.has(one));
  return value === undefined ? null : (holdings.get(value) ?? null);
}
