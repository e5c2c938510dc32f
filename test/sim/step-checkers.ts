// The properties of locks in steps: what people were told was so, and nothing is held for nobody. They are judged by what stands on the
// servers, because the process that tells has ended when it matters. The surprise: a lock that was told to be given back may stand on some
// masters for a while, those where nobody answered, or where its holder has just healed it; so "released" says that a quorum was without it.

import { quorumOf } from '../../src/lock/quorum.ts';
import type { Fact, Witness } from './witness.ts';

/** Below the precision of anything that is computed here. */
const grainMs = 1e-3;
/** Until a holder has looked for whoever asked for it, and given the lock back. */
const lookMs = 600;
const roundCount = 8;

export const stepCheckers = {
  /** Who is told that the lock is held, for so long, has it for so long, unless he gives it back. */
  toldHeld(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'answered' || fact.answer.kind !== 'held') return null;
    const { verb, ticket, answer, machine, askedAt, wasShown } = fact;
    const { now } = witness.world;
    const isRobbed = witness.robbedSince(ticket.value, askedAt);
    const until = now + answer.validMs / machine.rate;
    const isHeldOn = witness.tickets.isShown(ticket, until - grainMs) || isRobbed;
    const isBelieved = witness.holdings.get(ticket.value)?.isBelieved ?? false;
    if (!wasShown && !witness.tickets.isShown(ticket))
      return `${verb} of ${ticket.value} says held, and it was not`;
    if (isBelieved && !isHeldOn)
      return `${verb} of ${ticket.value} says held for ${answer.validMs} ms, and it is not`;
    return null;
  },

  /** Who is told that the lock is lost has lost it. */
  toldLost(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'answered' || fact.answer.kind !== 'lost' || !fact.wasShown) return null;
    const { verb, ticket } = fact;
    return witness.tickets.isShown(ticket)
      ? `${verb} of ${ticket.value} says lost, and a quorum shows it`
      : null;
  },

  /** What was told to be given back has been gone from a quorum; in calm weather it stays so; in the end nothing is left. */
  toldReleased(fact: Fact, witness: Witness): string | null {
    const { tickets } = witness;
    if (fact.kind === 'quiet') {
      const left = tickets.left();
      return left ? `${left.value} is still left` : null;
    }
    if (fact.kind === 'answered' && fact.answer.kind === 'released') {
      const { ticket, askedAt } = fact;
      tickets.releasedAt.set(ticket.value, witness.world.now);
      const wasGone = tickets.wasGoneSince(ticket.value, askedAt);
      if (!wasGone && tickets.isShown(ticket))
        return `${ticket.value} is told to be released, and a quorum shows it`;
    }
    const value =
      fact.kind === 'answered' ? fact.ticket.value : fact.kind === 'key-changed' ? fact.by : null;
    if (value === null || !tickets.releasedAt.has(value) || !witness.isCalm || witness.isDeadly)
      return null;
    const count = tickets.countOf(value);
    // A holder who has just extended heals a master that has just released, before he is called.
    return count >= quorumOf(witness.masterCount)
      ? `${value} was told to be released, and stands on ${count}`
      : null;
  },

  /** Who holds a lock for somebody does not go on when that has given it back. */
  heldAfterRelease(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'hold-ended' || fact.hold.value === null) return null;
    const { world, tickets, ttlMs, masterTimeoutMs } = witness;
    const releasedAt = tickets.releasedAt.get(fact.hold.value);
    if (releasedAt === undefined) return null;
    const tookMs = world.now - releasedAt;
    const allowedMs = ttlMs + roundCount * masterTimeoutMs + fact.hold.machine.stoppedMs;
    return tookMs > allowedMs
      ? `${fact.hold.name} went on for ${Math.round(tookMs)} ms after its release`
      : null;
  },

  /** A lock that is held for somebody is given back soon after he has gone. */
  heldForNobody(fact: Fact, { world, ttlMs, masterTimeoutMs }: Witness): string | null {
    if (fact.kind !== 'hold-ended') return null;
    const { name, askerGoneAt, stoppedMsBefore, machine } = fact.hold;
    if (askerGoneAt === null) return null;
    const tookMs = world.now - askerGoneAt - (machine.stoppedMs - stoppedMsBefore);
    const allowedMs = lookMs + roundCount * masterTimeoutMs;
    return tookMs > allowedMs
      ? `${name} went on for ${Math.round(tookMs)} ms after its shell had gone, of ${allowedMs}; ttl ${ttlMs}`
      : null;
  },

  /** In calm weather a lock that is held for somebody is not lost, and who gives it back is not said to have lost it. */
  keptForShell(fact: Fact, { isCalm, isDeadly }: Witness): string | null {
    if (fact.kind !== 'hold-ended' || !isCalm || isDeadly) return null;
    return fact.hold.end === 'lost' ? `${fact.hold.name} says that it has lost its lock` : null;
  },
};
