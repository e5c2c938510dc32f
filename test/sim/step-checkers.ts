// The properties of locks in steps: what was reported was true, and no lock is held in vain. They
// are judged by what is on the servers, because the process that reports has ended by then. A lock
// that was reported as released may remain on a minority for a while: masters that did not answer,
// or that its holder has just repaired.

import { quorumOf } from '../../src/lock/quorum.ts';
import type { Fact, Witness } from './witness.ts';

/** Below the precision of every computed time. */
const grainMs = 1e-3;
/** Until a daemon has checked the process that it holds for, and released the lock. */
const lookMs = 600;
const roundCount = 8;

export const stepCheckers = {
  /** A lock that is reported as held for so long is held for so long, unless it is released. */
  toldHeld(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'answered' || fact.answer.kind !== 'held') return null;
    const { verb, handle, answer, machine, askedAt, wasShown } = fact;
    const { now } = witness.world;
    const isRobbed = witness.robbedSince(handle.value, askedAt);
    const until = now + answer.validMs / machine.rate;
    const isHeldOn = witness.tickets.isShown(handle, until - grainMs) || isRobbed;
    const isBelieved = witness.holdings.get(handle.value)?.isBelieved ?? false;
    if (!wasShown && !witness.tickets.isShown(handle))
      return `${verb} of ${handle.value} says held, and it was not`;
    if (isBelieved && !isHeldOn)
      return `${verb} of ${handle.value} says held for ${answer.validMs} ms, and it is not`;
    return null;
  },

  /** A lock that is reported as lost is lost. */
  toldLost(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'answered' || fact.answer.kind !== 'lost' || !fact.wasShown) return null;
    const { verb, handle } = fact;
    return witness.tickets.isShown(handle)
      ? `${verb} of ${handle.value} says lost, and a quorum shows it`
      : null;
  },

  /**
   * A lock that is reported as released has been missing on a quorum; in calm weather it stays so;
   * in the end nothing is left.
   */
  toldReleased(fact: Fact, witness: Witness): string | null {
    const { tickets } = witness;
    if (fact.kind === 'quiet') {
      const left = tickets.left();
      return left ? `${left.value} is still left` : null;
    }
    if (fact.kind === 'answered' && fact.answer.kind === 'released') {
      const { handle, askedAt } = fact;
      tickets.releasedAt.set(handle.value, witness.world.now);
      const wasGone = tickets.wasGoneSince(handle.value, askedAt);
      if (!wasGone && tickets.isShown(handle))
        return `${handle.value} is told to be released, and a quorum shows it`;
    }
    const changedBy = fact.kind === 'key-changed' ? fact.by : null;
    const value = fact.kind === 'answered' ? fact.handle.value : changedBy;
    if (value === null || !tickets.releasedAt.has(value) || !witness.isCalm || witness.isDeadly)
      return null;
    const count = tickets.countOf(value);
    // A daemon that has just extended repairs a master that has just released, before it is woken.
    return count >= quorumOf(witness.masterCount)
      ? `${value} was told to be released, and stands on ${count}`
      : null;
  },

  /** A daemon does not go on after a release by token. */
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

  /** A lock that is held for a process is released soon after the process has ended. */
  heldForDeadProcess(fact: Fact, { world, ttlMs, masterTimeoutMs }: Witness): string | null {
    if (fact.kind !== 'hold-ended') return null;
    const { name, askerGoneAt, stoppedMsBefore, machine } = fact.hold;
    if (askerGoneAt === null) return null;
    const tookMs = world.now - askerGoneAt - (machine.stoppedMs - stoppedMsBefore);
    const allowedMs = lookMs + roundCount * masterTimeoutMs;
    return tookMs > allowedMs
      ? `${name} went on for ${Math.round(tookMs)} ms after its shell had ended, ` +
          `of ${allowedMs}; ttl ${ttlMs}`
      : null;
  },

  /**
   * In calm weather a lock that is held by a daemon is not lost, and its release is not reported as
   * a loss.
   */
  keptForShell(fact: Fact, { isCalm, isDeadly }: Witness): string | null {
    if (fact.kind !== 'hold-ended' || !isCalm || isDeadly) return null;
    return fact.hold.end === 'lost' ? `${fact.hold.name} says that it has lost its lock` : null;
  },
};
