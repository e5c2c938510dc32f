// The properties of the lock, one function each: given a fact, it returns what is wrong, or null.
// Checkers see the whole truth and change nothing. Each checks at once what a fact may have broken,
// so a breach is reported at the moment at which it begins.

import { quorumOf } from '../../src/lock/quorum.ts';
import { foreignCheckers } from './foreign-checkers.ts';
import { formCheckers } from './form-checkers.ts';
import { freezeCheckers } from './freezes.ts';
import { listCheckers } from './list-checkers.ts';
import { refusalCheckers } from './refusals.ts';
import { stepCheckers } from './step-checkers.ts';
import { stopCheckers } from './stops.ts';
import { waitingCheckers } from './waiting-checkers.ts';
import { areRivals, conflictOf, haveCommon } from './wish.ts';
import type { Fact, Holding, Witness } from './witness.ts';

export type Property = keyof typeof checkers;
type Checker = (fact: Fact, witness: Witness) => string | null;

/** Below the precision of every computed time. */
const grainMs = 1e-3;
/** Once masters and network are well: how long until a waiter must have the lock. */
export const livenessTtls = 4;
/** How long a free lock may stay free before the next program wants it. */
const comesAgainMs = 3_000;

export const checkers = {
  /** No two holders believe in the lock at one instant of true time, unless both may hold it. */
  exclusion(fact, witness) {
    if (fact.kind !== 'acquired') return null;
    const { holding } = fact;
    const soon = witness.world.now + grainMs;
    const others = [...witness.live()].filter(
      (one) => one !== holding && one.isBelieved && one.validUntil > soon,
    );
    return conflictOf(
      holding,
      others,
      ({ value, validUntil }) => `${value}, valid until ${validUntil.toFixed(3)},`,
    );
  },

  /** At most one command runs under the lock, or those that may run side by side. */
  oneChild(fact, witness) {
    if (fact.kind !== 'child-running') return null;
    const { holding } = fact;
    const others = [...witness.live()].filter(
      ({ value, tree }) => value !== holding.value && tree?.isRunning,
    );
    return conflictOf(holding, others, ({ value }) => `the command of ${value}`);
  },

  /** No command outlives the validity of its lease, or the release of its lock. */
  childUnderLease(fact, { world }) {
    if (fact.kind !== 'expired' && fact.kind !== 'released' && fact.kind !== 'child-running')
      return null;
    const { holding } = fact;
    if (!holding.tree?.isRunning) return null;
    if (fact.kind === 'child-running' && holding.validUntil > world.now) return null;
    return `the command of ${holding.value} runs on: ${fact.kind}`;
  },

  /** In calm weather no run loses its lock: it is extended in time, and its guard knows it. */
  kept(fact, { isUndisturbed, rosters }) {
    const isOnStage = rosters === null; // Its stories have troubles that no option shows.
    if (fact.kind !== 'ended' || !isUndisturbed || isOnStage) return null;
    const { name, cause } = fact.program;
    return cause?.kind === 'lost' ? `${name} has lost its lock: ${cause.reason}` : null;
  },

  /**
   * No script changes what another holds: its value in a key, its expiry beside a key, its slot.
   */
  ownership(fact) {
    if (fact.kind !== 'key-changed' || fact.by === null) return null;
    const { redis, name } = fact.server;
    const slots = redis.holdersOf(fact.key).flatMap(({ slot }) => (slot > 0 ? [slot] : []));
    const isDoubled = new Set(slots).size < slots.length;
    if (fact.before === null && isDoubled)
      return `${fact.by} stands on a slot of another on ${name}`;
    if (fact.before === null || fact.before === fact.by) return null;
    return `${fact.by} changed ${fact.key} on ${fact.server.name}, where ${fact.before} stood`;
  },

  /** A holder that believes in its lock has its value on a quorum for that long. */
  honesty(fact, witness) {
    if (fact.kind === 'confirmed') return dishonestyOf(fact.holding, witness);
    if (fact.kind !== 'key-changed' && fact.kind !== 'clock-stepped') return null;
    for (const holding of witness.live()) {
      if (!holding.isBelieved || holding.validUntil <= witness.world.now) continue;
      if (fact.kind === 'key-changed' && holding.value !== fact.before) continue;
      const text = dishonestyOf(holding, witness);
      if (text !== null) return text;
    }
    return null;
  },

  /**
   * Fencing numbers grow in the order of acquisition, in every form of lock. Of two attempts that
   * overlap and may share the lock, neither counts as the earlier one.
   */
  fence(fact, { holdings, firstGrantAt, world }) {
    if (fact.kind !== 'acquired') return null;
    const { value, resources, sharing, lease } = fact.holding;
    const { fence } = lease;
    if (fence === null) return null;
    const since = firstGrantAt.get(value) ?? world.now;
    for (const earlier of holdings.values()) {
      if (
        earlier === fact.holding ||
        (earlier.lease.fence ?? 0) < fence ||
        !haveCommon(earlier, fact.holding)
      )
        continue;
      const isEarlier = earlier.acquiredAt < since || areRivals(earlier, { resources, sharing });
      if (isEarlier)
        return `${value} got number ${fence}, an earlier holder ${earlier.lease.fence}`;
    }
    return null;
  },

  /**
   * Nothing is left behind: at once if no connection was ever in doubt, otherwise after a ttl. No
   * key beside a lock is there for ever.
   */
  litter(fact, { servers, programs, prefix }) {
    if (fact.kind === 'idle') {
      const { program, endpoint } = fact;
      const { redis, name } = endpoint.server;
      const [endless] = redis.endlessKeys();
      if (endless !== undefined) return `${endless} never ends on ${name}`;
      if (endpoint.wasBroken || program.keepMs > 0 || program.wasKilled) return null;
      for (const resource of program.wish.resources) {
        const shown = [...redis.shownAt(prefix + resource).keys()];
        const left = shown.find((value) => program.values.includes(value));
        if (left !== undefined)
          return `${left} is left on ${name}, for ${redis.remainingMs(prefix + resource)} ms`;
      }
      return redis.waits(program.waiterId) && !endpoint.wasDoubled && !program.leavesPlace
        ? `${program.waiterId} is left in the queue of ${name}`
        : null;
    }
    if (fact.kind !== 'quiet') return null;
    for (const { redis, name } of servers) {
      for (const { values, waiterId, endedAt } of programs) {
        if (endedAt === null) continue;
        const left = values.find((value) => redis.hasTraceOf(value));
        if (left !== undefined) return `${left} is still left on ${name}`;
        if (redis.waits(waiterId)) return `${waiterId} is still in a queue of ${name}`;
      }
    }
    return null;
  },

  /** Every run ends in time. */
  boundedEnd(fact, { world, programs }) {
    if (fact.kind === 'quiet') {
      const endless = programs.find(({ endedAt }) => endedAt === null);
      return endless ? `${endless.name} has not ended` : null;
    }
    if (fact.kind !== 'ended') return null;
    const { name, startedAt, allowedMs, stoppedMsBefore, machine } = fact.program;
    const tookMs = world.now - startedAt - (machine.stoppedMs - stoppedMsBefore);
    return tookMs > allowedMs
      ? `${name} took ${Math.round(tookMs)} ms of at most ${Math.round(allowedMs)}`
      : null;
  },

  /** Node prints no warning, because a warning would appear on the user's stderr. */
  noWarnings(fact) {
    return fact.kind === 'warned' ? fact.warning : null;
  },

  /** Once all masters are well, a waiter gets the lock, or a holder has had it until just now. */
  liveness(fact, { holdings, world }) {
    if (fact.kind !== 'healthy-for') return null;
    const isWon = ({ acquiredAt }: Holding) =>
      acquiredAt >= fact.sinceAt && acquiredAt <= fact.sinceAt + fact.ms;
    const isHeld = ({ validUntil }: Holding) => validUntil > world.now - comesAgainMs;
    return [...holdings.values()].some((holding) => isWon(holding) || isHeld(holding))
      ? null
      : `no program got the lock within ${Math.round(fact.ms)} ms of good health`;
  },
  ...waitingCheckers,
  ...listCheckers,
  ...formCheckers,
  ...stepCheckers,
  ...foreignCheckers,
  ...freezeCheckers,
  ...refusalCheckers,
  ...stopCheckers,
} satisfies Record<string, Checker>;

/** Checks each of several resources. */
function dishonestyOf(holding: Holding, witness: Witness): string | null {
  const texts = holding.resources.map((resource) => absenceOf(holding, resource, witness));
  return texts.find((text) => text !== null) ?? null;
}

function absenceOf(holding: Holding, resource: string, witness: Witness): string | null {
  const { servers, world, prefix } = witness;
  const isKept = servers.filter(({ redis }) => {
    const goneAt = redis.shownAt(prefix + resource).get(holding.value) ?? Number.NEGATIVE_INFINITY;
    return goneAt > holding.validUntil - grainMs;
  });
  const excused = servers.filter(
    (server) => !isKept.includes(server) && witness.wasRobbed(server, holding),
  );
  if (isKept.length + excused.length >= quorumOf(witness.masterCountOf(holding))) return null;
  const names = isKept.map(({ name }) => name).join(' ');
  const validMs = (holding.validUntil - world.now).toFixed(1);
  const shownOn = `is shown to hold ${resource} only on: ${names || 'none'}`;
  return `${holding.value} believes for ${validMs} ms more, but ${shownOn}`;
}
