// The properties of waiting for shared and preemptible locks: every waiter is served in its turn,
// the newest first where that was agreed, and no holder is stopped without cause. They are judged
// by the times of arrival, not by the queues, which a mutant may have emptied.

import { quorumOf } from '../../src/lock/quorum.ts';
import { parseWaiterId } from '../../src/lock/waiter-id.ts';
import type { SimServer } from './sim-server.ts';
import { latePollMs, waitingOnQuorum } from './waiting-checkers.ts';
import { areOpposed, haveCommon } from './wish.ts';
import type { Fact, Holding, KnownProgram, Witness } from './witness.ts';

/** Until a waiter is queued on all masters of a calm network. */
const joinedMs = 300;
/**
 * From the arrival of a preempting waiter until the holder is told, and from its end to the next
 * lock.
 */
const noticeMs = 400;
/** Until a new holder is subscribed. Waiters that came before ask once more. */
const listeningMs = 100;
/**
 * A wake-up, a few milliseconds to gather replies, and an extension that tells which waiter asks.
 */
const hearingMs = 60;
/**
 * How long a master remembers a waiter that it has just granted the lock; a little less, because
 * its clock may be fast.
 */
const servedMs = 2_950;

export const formCheckers = {
  /**
   * In calm weather no waiter gives up in vain while later ones, by the masters' clocks too, get
   * the lock that it waits for.
   */
  served(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'ended' || !isJudged(witness, fact.program)) return null;
    const { program } = fact;
    const { cause } = program;
    if (cause?.kind !== 'busy') return null;
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
        return `${program.name} got nothing, and ${holding.value} did, which came later`;
    }
    return null;
  },

  /**
   * No preemptible waiter gets the lock before a newer one, or after it: within three seconds in
   * any weather, always in calm weather.
   */
  superseded(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'acquired') return null;
    const { value, resources, lease } = fact.holding;
    const { preemptible, waiter } = lease.claim;
    if (preemptible === 'never' || waiter === null) return null;
    for (const resource of resources) {
      const isNewer = ({ id, arrival }: { id: string; arrival: number }) =>
        arrival > waiter.arrivalUs && parseWaiterId(id).traits.includes('supersede');
      const newer = waitingOnQuorum(witness, resource, fact.holding, isNewer);
      if (newer !== null)
        return `${value} acquired ${resource} although ${newer} had come after it`;
    }
    const since = witness.firstGrantAt.get(value) ?? witness.world.now;
    for (const earlier of witness.holdings.values()) {
      const { claim } = earlier.lease;
      const other = claim.waiter;
      // A waiter that could not start in time tries again, and may be queued with another arrival.
      const isItself = other?.id === waiter.id;
      if (
        claim.preemptible === 'never' ||
        other === null ||
        isItself ||
        !haveCommon(earlier, fact.holding)
      )
        continue;
      // Two attempts that overlap and share the lock: neither is the earlier one.
      if (other.arrivalUs <= waiter.arrivalUs || earlier.acquiredAt >= since) continue;
      const servedAt = witness.firstGrantAt.get(earlier.value) ?? earlier.acquiredAt;
      const isRemembered = !witness.isForgetful && witness.world.now < servedAt + servedMs;
      const all = [earlier, fact.holding].flatMap((one) => witness.programOf(one.value) ?? []);
      if (isRemembered || (witness.isPunctual && isJudged(witness, ...all)))
        return `${value} acquired after ${earlier.value}, which had come after it`;
    }
    return null;
  },

  /**
   * A holder is stopped only for a newer waiter that asks for it, waits on a quorum, and can
   * neither share the lock nor have a free slot.
   */
  replaced(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'replaced') return null;
    const { program, by } = fact;
    const { servers, programs, masterCount } = witness;
    const other = programs.find(({ waiterId }) => waiterId === by);
    if (program.wish.preemptible !== 'replace')
      return `${program.name} was stopped, and would not be`;
    if (other?.wish.preemptible !== 'replace')
      return `${program.name} was stopped for ${by}, which does not ask for it`;
    const holding = heldBy(program, witness);
    if (holding && !isBefore(holding, other, witness))
      return `${program.name} was stopped for ${by}, which came before it`;
    if (!areOpposed(program.wish, other.wish))
      return `${program.name} was stopped for ${by}, which could stand beside it`;
    const seenBy = servers.filter(({ redis }) => redis.everWaited.has(by));
    if (seenBy.length < quorumOf(masterCount))
      return `${program.name} was stopped for ${by}, which waits on ${seenBy.length}`;
    const haveSlots =
      program.wish.form === 'slots' && other.wish.slotCount === program.wish.slotCount;
    const slot = haveSlots ? freeSlotOf(program, witness) : null;
    return slot === null
      ? null
      : `${program.name} was stopped for ${by}, and slot ${slot} was free`;
  },

  /**
   * In calm weather a preemptible holder is told at once, and releases the lock as soon as its
   * command can be stopped.
   */
  replacement(fact: Fact, witness: Witness): string | null {
    if (fact.kind === 'replaced') return lateNoticeOf(fact.program, fact.by, witness);
    if (fact.kind !== 'released') return null;
    const { value, sharing, acquiredAt, lease } = fact.holding;
    const holder = witness.programOf(value);
    if (lease.claim.preemptible !== 'replace' || sharing.kind !== 'exclusive' || !holder)
      return null;
    const { now } = witness.world;
    const latestAt = now - noticeMs - witness.stopMs;
    const owner = witness.programs.find((program) => {
      const { wish, startedAt, endedAt } = program;
      const isHeard = startedAt > acquiredAt + listeningMs;
      const isDue =
        startedAt > acquiredAt && startedAt < (isHeard ? latestAt : latestAt - latePollMs);
      const hasAsked = isDue && (endedAt ?? now) > startedAt + joinedMs;
      if (!hasAsked || wish.preemptible !== 'replace' || !haveCommon(wish, fact.holding))
        return false;
      return isJudged(witness, holder, program) && isBefore(fact.holding, program, witness);
    });
    return owner ? `${value} kept from ${owner.name} what it had agreed to give up` : null;
  },
};

/** Whether these programs met no trouble. */
function isJudged({ wellSince }: Witness, ...programs: readonly KnownProgram[]): boolean {
  return programs.every(({ startedAt }) => startedAt >= wellSince);
}

/** By the masters' clocks; a program that never waited and came later by true time counts, too. */
function isBehind({ lease }: Holding, program: KnownProgram, witness: Witness): boolean {
  const { waiter } = lease.claim;
  return (
    waiter === null || witness.isPunctual || waiter.arrivalUs > arrivalOf(program.waiterId, witness)
  );
}

/** By the masters' clocks; a program that never waited counts, too. */
function isBefore({ lease }: Holding, program: KnownProgram, witness: Witness): boolean {
  const { waiter } = lease.claim;
  return waiter === null || waiter.arrivalUs < arrivalOf(program.waiterId, witness);
}

/** NaN: it was never queued. */
function arrivalOf(id: string, { servers }: Witness): number {
  return servers.flatMap(({ redis }) => redis.everWaited.get(id) ?? [])[0] ?? Number.NaN;
}

/**
 * A slot that is free on a quorum, and that was not given up since the holder was last told; null:
 * none.
 */
function freeSlotOf(program: KnownProgram, witness: Witness): number | null {
  const { servers, prefix, masterCount } = witness;
  const { resources, slotCount } = program.wish;
  const [resource = ''] = resources;
  const holding = heldBy(program, witness);
  if (!holding || (witness.ends.of(resource)?.freeAt ?? 0) >= holding.provenSince) return null;
  const isFreeOn = (slot: number) => (server: SimServer) => {
    const { redis } = server;
    return !redis.holdersOf(prefix + resource).some((one) => one.slot === slot);
  };
  const slots = Array.from({ length: slotCount }, (_, index) => index + 1);
  return (
    slots.find((slot) => servers.filter(isFreeOn(slot)).length >= quorumOf(masterCount)) ?? null
  );
}

/** Whether a subscribed holder, exclusive or shared, is woken by every waiter that is queued. */
function lateNoticeOf(program: KnownProgram, by: string, witness: Witness): string | null {
  const { servers, programs, prefix, masterCount, world } = witness;
  const holding = heldBy(program, witness);
  const owner = programs.find(({ waiterId }) => waiterId === by);
  if (!holding || !owner || program.wish.form === 'slots' || !isJudged(witness, program, owner))
    return null;
  const places = servers.map(({ redis }) => {
    const all = program.wish.resources.flatMap((resource) => redis.queueOf(prefix + resource));
    return Math.min(...all.flatMap(({ id, enteredAt }) => (id === by ? enteredAt : [])));
  });
  const askedAt =
    places.sort((a, b) => a - b)[quorumOf(masterCount) - 1] ?? Number.POSITIVE_INFINITY;
  const lateMs = world.now - askedAt;
  const isLate = askedAt > holding.acquiredAt + listeningMs && lateMs > hearingMs;
  return isLate
    ? `${program.name} was told of ${by} ${Math.round(lateMs)} ms after it asked`
    : null;
}

function bothYield(one: KnownProgram, other: KnownProgram): boolean {
  return one.wish.preemptible !== 'never' && other.wish.preemptible !== 'never';
}

function heldBy({ values }: KnownProgram, { holdings }: Witness): Holding | null {
  const value = values.findLast((one) => holdings.has(one));
  return value === undefined ? null : (holdings.get(value) ?? null);
}
