// The properties of waiting: order, prompt hand-over, bounded cost. A breach keeps programs waiting
// and is not unsafe. Order holds in every fair world, because a quorum on which a client waits
// meets every quorum that grants. The other two are judged in calm worlds, because trouble costs
// time and commands.

import { quorumOf } from '../../src/lock/quorum.ts';
import { pollMs } from '../../src/lock/wait.ts';
import { parseWaiterId } from '../../src/lock/waiter-id.ts';
import type { Options } from './options.ts';
import { silentMs } from './sim-redis.ts';
import type { Fact, Holding, Witness } from './witness.ts';

/**
 * A release, the wake-up, a few milliseconds to gather replies, an attempt, a write-back: round
 * trips of a calm network.
 */
const handOverMs = 100;
/** Until a waiter asks that was not woken, because the program that should wake it died. */
export const latePollMs = pollMs.max;
/**
 * The first attempt, the one that is queued, the winning one, the release; an early wake-up, a
 * split vote or two.
 */
const baseCommands = 14;
/** Programs split an even number of masters again and again, until chance decides. */
const evenCommands = 8;
/**
 * A slot that was taken after all, a wake-up for one of several resources, a newer waiter that asks
 * for the lock.
 */
const jointCommands = 6;
/**
 * A sign of life once a second, and an extension three times a ttl, by a clock that may be fast,
 * with retries.
 */
const minPollMs = pollMs.min - 50;

export const waitingCheckers = {
  /**
   * No waiter gets a lock past one that was before it in the queue of a quorum, unless both share
   * it.
   */
  order(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'acquired') return null;
    const { value, resources, sharing, lease } = fact.holding;
    const { waiter } = lease.claim;
    const isReader = (id: string) => parseWaiterId(id).traits.includes('shared');
    const isAhead = ({ id, arrival }: { id: string; arrival: number }) => {
      if (id === waiter?.id || (sharing.kind === 'shared' && isReader(id))) return false;
      return (
        waiter === null ||
        arrival < waiter.arrivalUs ||
        (arrival === waiter.arrivalUs && id < waiter.id)
      );
    };
    for (const resource of resources) {
      const passed = waitingOnQuorum(witness, resource, fact.holding, isAhead);
      if (passed !== null)
        return `${value} acquired ${resource} past ${passed}, which a quorum has before it`;
    }
    return null;
  },

  /**
   * In calm weather a waiter has the lock within a few round trips of its release, or soon after a
   * death.
   */
  handOver(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'acquired' || !witness.isCalm) return null;
    const { value, resources, sharing, lease } = fact.holding;
    const ends = resources.flatMap((resource) => witness.ends.of(resource) ?? []);
    const end = ends.sort((a, b) => b.freeAt - a.freeAt)[0];
    const { waiter } = lease.claim;
    if (!end || !waiter || !end.waiters.includes(waiter.id)) return null;
    const tookMs = witness.world.now - end.freeAt;
    // A program that shares the lock may have woken the next one.
    const rounds = witness.acquiredSince(end.freeAt, fact.holding);
    // The keys of a program that has just died may still be in the way.
    const keptMs = 1.02 * witness.ttlMs;
    const isLate = witness.hasDiedSince(end.freeAt - keptMs - latePollMs);
    // While others share the lock, a dead waiter that wants it alone is not woken, so that it keeps
    // its position until it has been silent for long enough.
    const isBehind = sharing.kind === 'shared' && witness.hasDiedSince(end.freeAt - silentMs);
    const allowedMs =
      rounds * handOverMs +
      (isLate ? keptMs : 0) +
      (isLate || isBehind || end.isLeft ? latePollMs : 0) +
      (isBehind ? silentMs : 0);
    return tookMs > allowedMs
      ? `${value} waited, and got the lock ${Math.round(tookMs)} ms after it was free`
      : null;
  },

  /**
   * In calm weather a run costs each master a handful of commands, and a few a second while it
   * waits or holds.
   */
  cost(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'ended' || !witness.isCalm || witness.isDeadly) return null;
    const { name, startedAt, endpoints } = fact.program;
    const livedMs = witness.world.now - startedAt;
    const evens = witness.masterCount % 2 === 0 ? evenCommands : 0;
    const { wish } = fact.program;
    const isPlain =
      wish.form === 'exclusive' && wish.resources.length === 1 && wish.preemptible === 'never';
    // Where holders of several slots have a bare quorum each, the first waiter tries all slots
    // until it has learned to wait.
    const slots = wish.form === 'slots' ? 4 * wish.slotCount : 0;
    const base = baseCommands + evens + slots + (isPlain ? 0 : jointCommands);
    // A preemptible holder is woken by every waiter that wants the lock.
    const callers = wish.preemptible === 'replace' ? 4 : 1;
    const allowed = base + (callers * livedMs) / minPollMs + (4 * livedMs) / witness.ttlMs;
    const most = Math.max(...endpoints.map(({ scriptCount }) => scriptCount));
    return most > allowed
      ? `${name} sent a master ${most} scripts in ${Math.round(livedMs)} ms, ` +
          `of ${Math.floor(allowed)} at most`
      : null;
  },
};

/**
 * A waiter on a quorum since before the first master granted the lock to this holder; null: none. A
 * server that took over shows waiters that left meanwhile, until they have been silent for too
 * long.
 */
export function waitingOnQuorum(
  { servers, prefix, firstGrantAt, world, masterCount }: Witness,
  resource: string,
  { value }: Holding,
  isSo: (position: { id: string; arrival: number }) => boolean,
): string | null {
  const since = firstGrantAt.get(value) ?? world.now;
  const counts = new Map<string, number>();
  for (const { redis, tookOverAt } of servers) {
    if (tookOverAt + silentMs > since) continue;
    for (const position of redis.queueOf(prefix + resource)) {
      if (position.enteredAt < since && isSo(position))
        counts.set(position.id, (counts.get(position.id) ?? 0) + 1);
    }
  }
  return [...counts].find(([, count]) => count >= quorumOf(masterCount))?.[0] ?? null;
}

/** Nothing but the contenders themselves gets in the way; some of them may die. */
export function isCalm(options: Options): boolean {
  const problems = Object.entries(options).filter(
    ([name]) => /EveryMs$/.test(name) && name !== 'extendEveryMs',
  );
  const { tailChance, guardLateMs, deadChance } = options;
  const isPrompt = tailChance === 0 && guardLateMs === 0 && deadChance === 0;
  const isSettled = options.rosterChange === 'none';
  return problems.every(([, value]) => value === null) && isPrompt && isSettled;
}
