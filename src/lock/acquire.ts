// Attempts until the lock is ours, the time is up, or the caller has had enough. The surprise: being refused and being
// unable to ask are told apart all the way. Busy may be waited out for ever; no quorum is given up after a while, because
// an outage reported as contention silently skips jobs.

import type { MasterFailure, Report } from './events.ts';
import type { Claim, Clock, Random } from './ports.ts';
import type { Attempt, Lease, Redlock } from './redlock.ts';
import { quorumOf } from './validity.ts';

export type Acquisition =
  | { readonly kind: 'acquired'; readonly lease: Lease }
  | { readonly kind: 'busy'; readonly holder: string; readonly freeInMs: number | null }
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] }
  | { readonly kind: 'too-slow'; readonly elapsedMs: number }
  /** The servers themselves say that the list of masters or the credentials are wrong: waiting mends nothing. */
  | { readonly kind: 'misconfigured'; readonly failures: readonly MasterFailure[] }
  | { readonly kind: 'aborted' };

export interface Patience {
  /** How long to wait for the lock; null: for ever; 0: one attempt (and a few more while a vote is split). */
  readonly waitMs: number | null;
  /** How long to go on without a quorum that answers. */
  readonly giveUpAfterMs: number;
  readonly aborted: AbortSignal;
}

/** Between two attempts on a lock that is held; drawn anew each time, so that waiters do not march in step. */
const pollMs = { least: 50, most: 150 };
/** After a split vote: long against a round trip, short for a person. */
const splitMs = { least: 5, most: 40 };
/** A single attempt is repeated so often where nobody held the lock: somebody should win. */
const splitRetryCount = 8;

/** Never leaves a key behind: what failed attempts may have set has been undone, as far as masters answer, on return. */
export async function acquire(
  redlock: Redlock,
  claim: Claim,
  patience: Patience,
  clock: Clock,
  random: Random,
  report: Report,
): Promise<Acquisition> {
  const acquisition = await attemptUntilDone(redlock, claim, patience, clock, random, report);
  if (acquisition.kind !== 'acquired') await redlock.settled();
  return acquisition;
}

async function attemptUntilDone(
  redlock: Redlock,
  claim: Claim,
  patience: Patience,
  clock: Clock,
  random: Random,
  report: Report,
): Promise<Acquisition> {
  const { waitMs, giveUpAfterMs, aborted } = patience;
  const beganAt = clock.now();
  const waitUntil = waitMs === null ? Number.POSITIVE_INFINITY : beganAt + waitMs;
  const between = ({ least, most }: { least: number; most: number }) => least + random() * (most - least);
  let quorumSeenAt = beganAt;
  for (let splitCount = 0; !aborted.aborted; ) {
    const attemptedAt = clock.now();
    const attempt = await redlock.attempt(claim, aborted);
    const now = clock.now();
    if (attempt.kind === 'acquired') {
      if (aborted.aborted) return await undo(redlock, attempt.lease);
      report({
        kind: 'acquired',
        grantedCount: attempt.grantedCount,
        elapsedMs: now - attemptedAt,
        waitMs: now - beganAt,
      });
      return { kind: 'acquired', lease: attempt.lease };
    }
    if (aborted.aborted) break;
    const isSplit = attempt.kind === 'busy' && !attempt.isHeld;
    if (isSplit) splitCount += 1;
    if (hasQuorumAnswered(attempt, redlock.masterCount)) quorumSeenAt = now;
    const mayGoOn = isSplit && waitMs === 0 ? splitCount <= splitRetryCount : now < waitUntil;
    const isHopeless = isMisconfigured(attempt, redlock.masterCount) || now - quorumSeenAt >= giveUpAfterMs;
    if (isHopeless || !mayGoOn) return endingOf(attempt, redlock.masterCount);
    tell(attempt, now - beganAt, report);
    const pauseMs = between(isSplit ? splitMs : pollMs);
    const untilFreeMs = attempt.kind === 'busy' && attempt.freeInMs !== null ? attempt.freeInMs + 2 : pauseMs;
    const untilEndMs = waitMs === 0 ? pauseMs : waitUntil - now;
    await clock.sleep(Math.min(pauseMs, untilFreeMs, untilEndMs), aborted);
  }
  return { kind: 'aborted' };
}

async function undo(redlock: Redlock, lease: Lease): Promise<Acquisition> {
  await redlock.release(lease.claim);
  return { kind: 'aborted' };
}

function tell(attempt: Attempt, waitedMs: number, report: Report): void {
  if (attempt.kind === 'busy') {
    report({ kind: 'waiting', holder: attempt.holder, remainingMs: attempt.freeInMs, waitedMs });
  } else if (attempt.kind === 'unreachable') {
    report({ kind: 'no-quorum', failures: attempt.failures, waitedMs });
  }
}

function endingOf(attempt: Exclude<Attempt, { kind: 'acquired' }>, masterCount: number): Acquisition {
  if (isMisconfigured(attempt, masterCount)) return { kind: 'misconfigured', failures: failuresOf(attempt) };
  switch (attempt.kind) {
    case 'busy':
      return { kind: 'busy', holder: attempt.holder, freeInMs: attempt.freeInMs };
    case 'too-slow':
      return attempt;
    default:
      return { kind: 'unreachable', failures: attempt.failures };
  }
}

/** A server that must not be in the list, or so many that refuse us access that no quorum can ever answer. */
function isMisconfigured(attempt: Attempt, masterCount: number): boolean {
  if (attempt.kind === 'unfit') return true;
  const deniedCount = failuresOf(attempt).filter(({ failed }) => failed.cause === 'denied').length;
  return deniedCount > masterCount - quorumOf(masterCount);
}

/** A master that has restarted too lately to vote has answered all the same: it is worth waiting for. */
function hasQuorumAnswered(attempt: Attempt, masterCount: number): boolean {
  if (attempt.kind === 'busy' || attempt.kind === 'too-slow') return true;
  const mute = failuresOf(attempt).filter(({ failed }) => failed.cause !== 'restarted');
  return mute.length <= masterCount - quorumOf(masterCount);
}

function failuresOf(attempt: Attempt): readonly MasterFailure[] {
  return attempt.kind === 'unfit' || attempt.kind === 'unreachable' ? attempt.failures : [];
}
