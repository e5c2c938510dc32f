// The properties of waiting: order, prompt hand-over, bounded cost. Not of safety: who breaks one of these only keeps people
// waiting. The surprise: order holds in every fair world, because a quorum on which somebody waits meets every quorum that grants;
// the other two are judged in worlds without any trouble, because trouble costs time and commands by right.

import { quorumOf } from '../../src/lock/validity.ts';
import type { Options } from './options.ts';
import type { Fact, Witness } from './witness.ts';

/** A release, the call, a few milliseconds of gathering, an attempt, a write-back: round trips of a calm network. */
const handOverMs = 150;
/** Until somebody asks who was not called, because the caller died. */
const pollMs = 1_000;
/** The first attempt, the one that takes a place, the winning one, the release; a call that came early, a split vote or two. */
const baseCommands = 12;
/** An even number of masters is split evenly again and again, until chance decides. */
const evenCommands = 8;
/** A sign of life once a second, and an extension three times a ttl, by a clock that may run fast, with retries. */
const leastPollMs = 850;

export const waitingCheckers = {
  /** Nobody gets a lock past somebody who was before him in the queue of a quorum. */
  order(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'acquired') return null;
    const { value, resource, lease } = fact.holding;
    const { waiter } = lease.claim;
    const key = witness.prefix + resource;
    const since = witness.firstGrantAt.get(value) ?? witness.world.now;
    const counts = new Map<string, number>();
    for (const { redis } of witness.servers) {
      for (const { id, arrival, enteredAt } of redis.queueOf(key).places()) {
        const isAhead =
          waiter === null || arrival < waiter.arrivalUs || (arrival === waiter.arrivalUs && id < waiter.id);
        if (isAhead && id !== waiter?.id && enteredAt < since) counts.set(id, (counts.get(id) ?? 0) + 1);
      }
    }
    const passed = [...counts].find(([, count]) => count >= quorumOf(witness.masterCount));
    return passed ? `${value} acquired past ${passed[0]}, who was first in the queue of ${passed[1]} masters` : null;
  },

  /** In calm weather somebody who waits has the lock within a few round trips of its release, or soon after a death. */
  handOver(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'acquired' || !witness.isCalm) return null;
    const { value, resource, lease } = fact.holding;
    const end = witness.lastEnd.get(resource);
    const { waiter } = lease.claim;
    if (!end || !waiter || !end.waiters.includes(waiter.id)) return null;
    const tookMs = witness.world.now - end.freeAt;
    // Who dies in the middle of an attempt leaves keys on some masters.
    const allowedMs = handOverMs + (witness.isDeadly ? 1.02 * witness.ttlMs + pollMs : 0);
    return tookMs > allowedMs ? `${value} waited, and got the lock ${Math.round(tookMs)} ms after it was free` : null;
  },

  /** In calm weather a run costs each master a handful of commands, and a few a second while it waits or holds. */
  cost(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'ended' || !witness.isCalm || witness.isDeadly) return null;
    const { name, startedAt, endpoints } = fact.program;
    const livedMs = witness.world.now - startedAt;
    const base = baseCommands + (witness.masterCount % 2 === 0 ? evenCommands : 0);
    const allowed = base + livedMs / leastPollMs + (4 * livedMs) / witness.ttlMs;
    const most = Math.max(...endpoints.map(({ scriptCount }) => scriptCount));
    return most > allowed
      ? `${name} sent a master ${most} scripts in ${Math.round(livedMs)} ms, of ${Math.floor(allowed)} at most`
      : null;
  },
};

/** Nothing but the contenders themselves gets in the way; some may die. */
export function isCalm(options: Options): boolean {
  const troubles = Object.entries(options).filter(([name]) => /EveryMs$/.test(name) && name !== 'extendEveryMs');
  return troubles.every(([, value]) => value === null) && options.tailChance === 0;
}
