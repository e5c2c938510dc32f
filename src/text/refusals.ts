// Why a lock was not acquired, as the line that redlock-run, redlockctl and the errors of the
// library share: `what: which: why (what to do)`.

import { parseFreeze } from '../lock/freeze.ts';
import { parseValue, sharingIn } from '../lock/value.ts';
import type { NotAcquired } from '../lock/wait.ts';
import { failuresLine, holderLine, oneOf, roughly, waiterLine, whichOf } from './lines.ts';

/** How a program calls its settings, for what to do. */
export interface Wording {
  readonly ttl: string;
  readonly giveUpAfter: string;
  /** For a lock that stays held by this value. */
  readonly onBusy: (holder: string) => string;
  /** For a lock that an enclosing run holds; null: nothing. */
  readonly onNested: string | null;
}

/** null where the exit status says enough. */
export function refusalLine(
  names: readonly string[],
  refusal: NotAcquired,
  { ttl, giveUpAfter, onBusy, onNested }: Wording,
): string | null {
  const which = whichOf(names);
  switch (refusal.kind) {
    case 'busy': {
      const { holder, freeInMs, holderCount, queuedCount, blockedName } = refusal;
      const held = holderLine(holder, freeInMs, holderCount);
      const whichOne = oneOf(names, blockedName);
      if (queuedCount === undefined) return busyLine(whichOne, held, onBusy(holder));
      const queue = `${queuedCount} waiting already; ${held}`;
      return busyLine(whichOne, queue, 'try later, or raise --max-waiters');
    }
    case 'nested':
      return heldAroundLine(which, parseValue(refusal.holder).record?.forPid, onNested);
    case 'superseded':
      return busyLine(which, `superseded by ${waiterLine(refusal.by)}`, null);
    case 'unreachable':
      return noQuorumLine(
        which,
        failuresLine(refusal.failures),
        refusal.gaveUpAfterMs,
        giveUpAfter,
      );
    case 'too-slow': {
      const why = `the masters took ${roughly(refusal.elapsedMs)}, too long for this ttl`;
      return `no quorum: ${which}: ${why} (raise ${ttl})`;
    }
    case 'misconfigured':
      return `masters: ${failuresLine(refusal.failures)}`;
    case 'enclosing-lost': {
      const why = 'the enclosing run has ended, or did not start this one';
      const advice = 'leave out --reentrant to acquire it';
      return `lost: ${which}: ${why} (${advice}); the command was not started`;
    }
    case 'aborted':
      return null;
  }
}

/** The line of exit status 75, held by someone else. `why`: what holds it; null: no advice. */
export function busyLine(which: string, why: string, advice: string | null): string {
  return `busy: ${which}: ${why}${advice === null ? '' : ` (${advice})`}`;
}

/**
 * The line of exit status 69, too few masters answered. `failures`: why, as a line;
 * `gaveUpAfterMs`: no quorum answered for that long, and the wait would have gone on; `key`: the
 * setting that limits it.
 */
export function noQuorumLine(
  which: string,
  failures: string,
  gaveUpAfterMs: number | null,
  key: string,
): string {
  const gaveUp = gaveUpAfterMs === null ? '' : `gave up after ${roughly(gaveUpAfterMs)} (${key}): `;
  return `no quorum: ${which}: ${gaveUp}${failures}`;
}

/**
 * The line about a lock for which a process does not wait, because it is part of the holder: of the
 * process for which redlockctl hold holds it, or else of an enclosing run, with this advice.
 */
export function heldAroundLine(
  which: string,
  forPid: number | undefined,
  advice: string | null,
): string {
  if (forPid === undefined) {
    const why = 'held by an enclosing run, which cannot end while this one waits';
    return busyLine(which, why, advice);
  }
  const hold = `held by redlockctl hold for pid ${forPid}`;
  const why = `${hold}, which started this and would wait for itself`;
  return busyLine(which, why, 'redlockctl release it first');
}

/** What ends the wait for this holder's lock. `longer`: how to wait longer. */
export function busyAdvice(holder: string, slotCount: number | null, longer: string): string {
  if (parseFreeze(holder)) return 'redlockctl thaw ends it';
  return otherSlots(holder, slotCount) ?? longer;
}

/** How to wait longer than `waitMs`; null: no limit. */
export function longerWait(waitMs: number | null): string {
  return waitMs === 0 ? 'wait with -w' : 'wait longer with -w';
}

/**
 * What is wrong with a lock on another number of slots than ours; null: it is not held like that.
 * `slotCount`: the number that we ask for; null: none, and then the lock is exclusive or shared.
 */
export function otherSlots(mode: string, slotCount: number | null): string | null {
  const theirs = sharingIn(mode, 0);
  if (theirs.kind !== 'slots' || theirs.slotCount === slotCount) return null;
  const ours =
    slotCount === null
      ? 'this one without: use one form of lock'
      : `not ${slotCount}: use one number`;
  return `with --slots ${theirs.slotCount}, ${ours} for all runs`;
}
