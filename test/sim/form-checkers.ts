// The properties of those who wait for a lock that others may hold together, and of those who give way: everybody is served in his turn,
// the newest goes first where it was agreed, and nobody is stopped for nothing. The surprise: that a writer is served where readers come
// and go is judged by who came when, and not by the queues, which a mistake might have left empty.

import { quorumOf } from '../../src/lock/quorum.ts';
import { parseWaiterId } from '../../src/lock/value.ts';
import type { SimServer } from './sim-server.ts';
import { pollMs, waitingOnQuorum } from './waiting-checkers.ts';
import { areOpposed, haveCommon } from './wish.ts';
import type { Fact, Holding, ProgramRecord, Witness } from './witness.ts';

/** Until whoever has to wait has a place on all masters of a calm network. */
const joinedMs = 300;
/** From the arrival of one who wants it at once until the holder has been told, and from his end until the other has it. */
const noticeMs = 400;
/** Until a new holder listens for those who want it. Who has come before asks once more. */
const listeningMs = 100;
/** A call, a few milliseconds of gathering, and an extension that says who calls. */
const hearingMs = 60;
/** For so long a master remembers whom it has just granted what others wait for; a little less, since its clock may run fast. */
const servedMs = 2_950;

export const formCheckers = {
  /** When all is well nobody waits in vain while others who came later, also by the masters' clocks, get what he waits for. */
  served(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'ended' || !isJudged(witness, fact.program)) return null;
    const { program } = fact;
    const { cause } = program;
    if (cause?.kind !== 'not-acquired' || cause.acquisition.kind !== 'busy') return null;
    for (const other of witness.programs) {
      const cameLater = other.startedAt > program.startedAt + joinedMs;
      if (!cameLater || !areOpposed(program.wish, other.wish) || bothYield(program, other))
        continue;
      const holding = heldBy(other, witness);
      if (
        holding &&
        holding.acquiredAt < witness.world.now - joinedMs &&
        isBehind(holding, program, witness)
      )
        return `${program.name} got nothing, and ${holding.value} did, who came later`;
    }
    return null;
  },

  /** Of those who give way, nobody gets it past a newer one, nor after him: for three seconds in any weather, at all when all is well. */
  newest(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'acquired') return null;
    const { value, resources, lease } = fact.holding;
    const { yields, waiter } = lease.claim;
    if (yields === 'never' || waiter === null) return null;
    for (const resource of resources) {
      const isNewer = ({ id, arrival }: { id: string; arrival: number }) =>
        arrival > waiter.arrivalUs && parseWaiterId(id).traits.includes('newest');
      const newer = waitingOnQuorum(witness, resource, fact.holding, isNewer);
      if (newer !== null)
        return `${value} acquired ${resource} although ${newer} had come after it`;
    }
    const since = witness.firstGrantAt.get(value) ?? witness.world.now;
    for (const earlier of witness.holdings.values()) {
      const { claim } = earlier.lease;
      const other = claim.waiter;
      // Who could not start in time tries again, and may be entered with another arrival.
      const isHimself = other?.id === waiter.id;
      if (
        claim.yields === 'never' ||
        other === null ||
        isHimself ||
        !haveCommon(earlier, fact.holding)
      )
        continue;
      // Attempts that overlap of two who share it: neither is the earlier one.
      if (other.arrivalUs <= waiter.arrivalUs || earlier.acquiredAt >= since) continue;
      const servedAt = witness.firstGrantAt.get(earlier.value) ?? earlier.acquiredAt;
      const isRemembered = !witness.isForgetful && witness.world.now < servedAt + servedMs;
      const all = [earlier, fact.holding].flatMap((one) => witness.programOf(one.value) ?? []);
      if (isRemembered || (witness.isPunctual && isJudged(witness, ...all)))
        return `${value} acquired after ${earlier.value}, who had come after it`;
    }
    return null;
  },

  /** Nobody is stopped but for one who is newer, asks for it, waits on a quorum, and could neither stand beside him nor have a free slot. */
  replaced(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'replaced') return null;
    const { program, by } = fact;
    const { servers, programs, masterCount } = witness;
    const other = programs.find(({ waiterId }) => waiterId === by);
    if (program.wish.yields !== 'lock') return `${program.name} was stopped, and would not be`;
    if (other?.wish.yields !== 'lock')
      return `${program.name} was stopped for ${by}, who does not ask for it`;
    const holding = heldBy(program, witness);
    if (holding && !isBefore(holding, other, witness))
      return `${program.name} was stopped for ${by}, who came before it`;
    if (!areOpposed(program.wish, other.wish))
      return `${program.name} was stopped for ${by}, who could stand beside it`;
    const seenBy = servers.filter(({ redis }) => redis.everWaited.has(by));
    if (seenBy.length < quorumOf(masterCount))
      return `${program.name} was stopped for ${by}, who waits on ${seenBy.length}`;
    const haveSlots =
      program.wish.form === 'slots' && other.wish.slotCount === program.wish.slotCount;
    const slot = haveSlots ? freeSlotOf(program, witness) : null;
    return slot === null
      ? null
      : `${program.name} was stopped for ${by}, and slot ${slot} was free`;
  },

  /** When all is well whoever would give it up is told at once, and has done so as soon as his command could be stopped. */
  replacement(fact: Fact, witness: Witness): string | null {
    if (fact.kind === 'replaced') return lateNoticeOf(fact.program, fact.by, witness);
    if (fact.kind !== 'released') return null;
    const { value, sharing, acquiredAt, lease } = fact.holding;
    const holder = witness.programOf(value);
    if (lease.claim.yields !== 'lock' || sharing.kind !== 'exclusive' || !holder) return null;
    const { now } = witness.world;
    const latestAt = now - noticeMs - witness.stopMs;
    const owner = witness.programs.find((program) => {
      const { wish, startedAt, endedAt } = program;
      const isHeard = startedAt > acquiredAt + listeningMs;
      const isDue = startedAt > acquiredAt && startedAt < (isHeard ? latestAt : latestAt - pollMs);
      const hasAsked = isDue && (endedAt ?? now) > startedAt + joinedMs;
      if (!hasAsked || wish.yields !== 'lock' || !haveCommon(wish, fact.holding)) return false;
      return isJudged(witness, holder, program) && isBefore(fact.holding, program, witness);
    });
    return owner ? `${value} kept from ${owner.name} what it had agreed to give up` : null;
  },
};

/** Nothing of any trouble concerns these. */
function isJudged({ wellSince }: Witness, ...programs: readonly ProgramRecord[]): boolean {
  return programs.every(({ startedAt }) => startedAt >= wellSince);
}

/** By the masters' clocks; so is one who never waited, and came later by the world's. */
function isBehind({ lease }: Holding, program: ProgramRecord, witness: Witness): boolean {
  const { waiter } = lease.claim;
  return (
    waiter === null || witness.isPunctual || waiter.arrivalUs > arrivalOf(program.waiterId, witness)
  );
}

/** By the masters' clocks; so is one who never waited. */
function isBefore({ lease }: Holding, program: ProgramRecord, witness: Witness): boolean {
  const { waiter } = lease.claim;
  return waiter === null || waiter.arrivalUs < arrivalOf(program.waiterId, witness);
}

/** NaN: he never had a place. */
function arrivalOf(id: string, { servers }: Witness): number {
  return servers.flatMap(({ redis }) => redis.everWaited.get(id) ?? [])[0] ?? Number.NaN;
}

/** That could be had on a quorum, and was not given up since the holder was last told; null: none. */
function freeSlotOf(program: ProgramRecord, witness: Witness): number | null {
  const { servers, prefix, masterCount } = witness;
  const { resources, slotCount } = program.wish;
  const [resource = ''] = resources;
  const holding = heldBy(program, witness);
  if (!holding || (witness.ends.of(resource)?.freeAt ?? 0) >= holding.provenSince) return null;
  const isFreeOn = (slot: number) => (server: SimServer) => {
    const { redis } = server;
    return !redis
      .holdersOf(prefix + resource)
      .living(redis.now)
      .some((one) => one.slot === slot);
  };
  const slots = Array.from({ length: slotCount }, (_, index) => index + 1);
  return (
    slots.find((slot) => servers.filter(isFreeOn(slot)).length >= quorumOf(masterCount)) ?? null
  );
}

/** Who holds it alone, or shares it, and listens, is called by whoever takes a place. */
function lateNoticeOf(program: ProgramRecord, by: string, witness: Witness): string | null {
  const { servers, programs, prefix, masterCount, world } = witness;
  const holding = heldBy(program, witness);
  const owner = programs.find(({ waiterId }) => waiterId === by);
  if (!holding || !owner || program.wish.form === 'slots' || !isJudged(witness, program, owner))
    return null;
  const places = servers.map(({ redis }) => {
    const all = program.wish.resources.flatMap((resource) =>
      redis.queueOf(prefix + resource).places(),
    );
    return Math.min(...all.flatMap(({ id, enteredAt }) => (id === by ? enteredAt : [])));
  });
  const askedAt =
    places.sort((a, b) => a - b)[quorumOf(masterCount) - 1] ?? Number.POSITIVE_INFINITY;
  const lateMs = world.now - askedAt;
  const isLate = askedAt > holding.acquiredAt + listeningMs && lateMs > hearingMs;
  return isLate
    ? `${program.name} was told of ${by} ${Math.round(lateMs)} ms after he asked`
    : null;
}

function bothYield(one: ProgramRecord, other: ProgramRecord): boolean {
  return one.wish.yields !== 'never' && other.wish.yields !== 'never';
}

function heldBy({ values }: ProgramRecord, { holdings }: Witness): Holding | null {
  const value = values.findLast((one) => holdings.has(one));
  return value === undefined ? null : (holdings.get(value) ?? null);
}
