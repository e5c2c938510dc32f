// The properties, one function each: a fact comes in, and what is wrong with it comes out, or null. They are given the whole
// truth and are part of nothing. The surprise: most facts prove nothing by themselves; each checker looks at what the fact
// could have broken, at once, so that a breach is told at the moment at which it begins.

import { quorumOf } from '../../src/lock/validity.ts';
import { waitingCheckers } from './waiting-checkers.ts';
import type { Fact, Holding, Witness } from './witness.ts';

export type Property = keyof typeof checkers;
type Checker = (fact: Fact, witness: Witness) => string | null;

/** Below the precision of anything that is computed here. */
const grainMs = 1e-3;
/** After the masters are well and the network is quick: how long until somebody must have got the lock. */
export const livenessTtls = 4;

export const checkers = {
  /** At most one process believes that it holds the lock, at every instant of true time. */
  exclusion(fact, witness) {
    if (fact.kind !== 'acquired') return null;
    const { holding } = fact;
    const soon = witness.world.now + grainMs;
    const other = others(holding, witness).find((one) => one.isBelieved && one.validUntil > soon);
    return other ? `${holding.value} acquired what ${other.value} holds until ${other.validUntil.toFixed(3)}` : null;
  },

  /** At most one command runs under the lock. */
  oneChild(fact, witness) {
    if (fact.kind !== 'child-running') return null;
    const { holding } = fact;
    const other = others(holding, witness).find((one) => one.tree?.isRunning);
    return other ? `the command of ${other.value} still runs beside that of ${holding.value}` : null;
  },

  /** No command outlives the validity of its lease, nor the release of its lock. */
  childUnderLease(fact, { world }) {
    if (fact.kind !== 'expired' && fact.kind !== 'released' && fact.kind !== 'child-running') return null;
    const { holding } = fact;
    if (!holding.tree?.isRunning) return null;
    if (fact.kind === 'child-running' && holding.validUntil > world.now) return null;
    return `the command of ${holding.value} runs on: ${fact.kind}`;
  },

  /** No script changes a key that holds another's value. */
  ownership(fact) {
    if (fact.kind !== 'key-changed' || fact.by === null || fact.before === null || fact.before === fact.by) return null;
    return `${fact.by} changed ${fact.key} on ${fact.server.name}, where ${fact.before} stood`;
  },

  /** Whoever believes that he holds the lock has his value on a quorum, for as long as he believes it. */
  honesty(fact, witness) {
    if (fact.kind === 'proven') return dishonestyOf(fact.holding, witness);
    if (fact.kind !== 'key-changed' && fact.kind !== 'clock-stepped') return null;
    for (const holding of witness.live()) {
      if (!holding.isBelieved || holding.validUntil <= witness.world.now) continue;
      if (fact.kind === 'key-changed' && holding.value !== fact.before) continue;
      const text = dishonestyOf(holding, witness);
      if (text !== null) return text;
    }
    return null;
  },

  /** Fencing numbers grow in the order of acquisition. */
  fence(fact, { highestFence }) {
    if (fact.kind !== 'acquired') return null;
    const { value, resource, lease } = fact.holding;
    const highest = highestFence.get(resource) ?? 0;
    if (lease.fence === null || lease.fence > highest) return null;
    return `${value} got number ${lease.fence}, an earlier holder ${highest}`;
  },

  /** Nothing of ours is left: at once where no connection was ever in doubt, after a ttl anywhere. */
  litter(fact, { servers, programs, prefix }) {
    if (fact.kind === 'idle') {
      const { program, endpoint } = fact;
      if (endpoint.wasBroken || program.keepMs > 0 || program.wasKilled) return null;
      const { redis, name } = endpoint.server;
      const left = redis.keys().find((key) => key.startsWith(prefix) && program.values.includes(redis.get(key) ?? ''));
      if (left !== undefined) return `${redis.get(left)} is left on ${name}, for ${redis.remainingMs(left)} ms`;
      return redis.waits(program.waiterId) && !endpoint.wasDoubled
        ? `${program.waiterId} is left in the queue of ${name}`
        : null;
    }
    if (fact.kind !== 'quiet') return null;
    const finished = new Set(programs.flatMap(({ values, endedAt }) => (endedAt === null ? [] : values)));
    for (const { redis, name } of servers) {
      const left = redis.keys().find((key) => finished.has(redis.get(key) ?? ''));
      if (left !== undefined) return `${redis.get(left)} is still left on ${name}`;
    }
    return null;
  },

  /** Every run comes to its end in time. */
  boundedEnd(fact, { world, programs }) {
    if (fact.kind === 'quiet') {
      const endless = programs.find(({ endedAt }) => endedAt === null);
      return endless ? `${endless.name} has not ended` : null;
    }
    if (fact.kind !== 'ended') return null;
    const { name, startedAt, allowedMs, stoppedMsBefore, machine } = fact.program;
    const tookMs = world.now - startedAt - (machine.stoppedMs - stoppedMsBefore);
    return tookMs > allowedMs ? `${name} took ${Math.round(tookMs)} ms of at most ${Math.round(allowedMs)}` : null;
  },

  /** Node has nothing to complain of: what it does, it says on the stderr of the user. */
  noWarnings(fact) {
    return fact.kind === 'warned' ? fact.warning : null;
  },

  /** Once the masters are well, somebody who wants the lock gets it, or somebody has it and keeps it. */
  liveness(fact, witness) {
    if (fact.kind !== 'healthy-for') return null;
    const isWon = witness.acquiredAt.some((at) => at >= fact.sinceAt && at <= fact.sinceAt + fact.ms);
    const isHeld = [...witness.live()].some((holding) => holding.isBelieved);
    return isWon || isHeld ? null : `nobody got the lock within ${Math.round(fact.ms)} ms of good health`;
  },
  ...waitingCheckers,
} satisfies Record<string, Checker>;

function others(holding: Holding, witness: Witness): Holding[] {
  return [...witness.live()].filter((one) => one !== holding && one.resource === holding.resource);
}

function dishonestyOf(holding: Holding, witness: Witness): string | null {
  const { servers, world, prefix, masterCount } = witness;
  const key = prefix + holding.resource;
  const isKept = servers.filter(({ redis }) => {
    return redis.get(key) === holding.value && redis.goneAt(key) > holding.validUntil - grainMs;
  });
  const excused = servers.filter((server) => !isKept.includes(server) && witness.wasRobbed(server, holding));
  if (isKept.length + excused.length >= quorumOf(masterCount)) return null;
  const names = isKept.map(({ name }) => name).join(' ');
  const validMs = (holding.validUntil - world.now).toFixed(1);
  return `${holding.value} believes for ${validMs} ms more, but has its value only on: ${names || 'none'}`;
}
