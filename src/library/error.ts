// The error that calls of the library reject with: one class, told apart by `kind`, and the
// functions that make one. Failures that the lock survives (a master that is down, an extension
// that is tried again) go to `onEvent` instead. The messages are those of the programs, `what:
// which: why (what to do)`, without passwords and line breaks, so that the same documentation
// explains both. *Note:* a function that is marked as internal, and the types that it names, stay
// out of the package's declarations. So would the first import, if that mark stood up here.

import type { MasterFailure } from '../lock/types.ts';
import type { NotAcquired } from '../lock/wait.ts';
import { refusalLine } from '../text/ends.ts';
import { whichOf } from '../text/lines.ts';
import { lossLine } from '../text/outcomes.ts';

/**
 * - `busy`: held by someone else for all of the wait; see `holder` and `freeInMs`
 * - `superseded`: a newer waiter came, and both waited with `supersede`
 * - `unreachable`: too few masters answered to tell if the lock is held; see `failures`
 * - `too-slow`: the masters granted the lock too late for its ttl
 * - `misconfigured`: the masters reject the list of masters or the login; see `failures`
 * - `aborted`: the signal of the caller, or `close()`, ended the wait
 * - `lost`: the lock is not, or soon will not be, confirmed to be held; see `reason`
 * - `usage`: a mistake in the call itself
 */
export type ErrorKind =
  | 'busy'
  | 'superseded'
  | 'unreachable'
  | 'too-slow'
  | 'misconfigured'
  | 'aborted'
  | 'lost'
  | 'usage';

/**
 * - `taken`: masters show the value of another client
 * - `expired`: too few masters still confirm it: it was broken, or not extended in time
 * - `unreachable`: no quorum extended it in time
 * - `suspended`: this process was stopped, asleep or busy when the lock had to be extended
 * - `released`, `closed`: by this program itself
 */
export type LostReason = 'taken' | 'expired' | 'unreachable' | 'suspended' | 'released' | 'closed';

type Facts = Partial<Pick<RedlockError, 'holder' | 'freeInMs' | 'failures' | 'reason' | 'cause'>>;

export class RedlockError extends Error {
  override readonly name = 'RedlockError';
  readonly kind: ErrorKind;
  /**
   * For `busy`, the value of the key on most masters: `<token> <holder record>`; `shared` or `slots
   * 3` where the lock has several holders; or the value that another library has set.
   */
  readonly holder: string | null;
  /**
   * For `busy`, ms until the lease of that holder ends, unless it is extended; null: never, or not
   * known.
   */
  readonly freeInMs: number | null;
  /** For `unreachable` and `misconfigured`, the answer of each master that failed. */
  readonly failures: readonly MasterFailure[];
  /** For `lost`. */
  readonly reason: LostReason | null;

  constructor(kind: ErrorKind, message: string, facts: Facts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.holder = facts.holder ?? null;
    this.freeInMs = facts.freeInMs ?? null;
    this.failures = facts.failures ?? [];
    this.reason = facts.reason ?? null;
  }
}

/** @internal */
export function usageError(message: string): RedlockError {
  return new RedlockError('usage', message);
}

/** @internal */
export function notAcquiredError(
  resources: readonly string[],
  refusal: NotAcquired,
  hasRetries: boolean,
  cause: unknown,
): RedlockError {
  if (refusal.kind === 'aborted') return abortedError(resources, 'told to stop waiting', cause);
  const message = refusalLine(resources, refusal, {
    ttl: 'ttlMs',
    giveUpAfter: 'giveUpAfterMs',
    onBusy: () => (hasRetries ? 'raise retries.count' : 'raise waitMs'),
    onNested: null,
  });
  const isAround = refusal.kind === 'nested' || refusal.kind === 'enclosing-lost';
  const facts = { ...refusal, cause: undefined };
  return new RedlockError(isAround ? 'busy' : refusal.kind, message ?? '', facts);
}

/** @internal */
export function abortedError(
  resources: readonly string[],
  why: string,
  cause?: unknown,
): RedlockError {
  return new RedlockError('aborted', `aborted: ${whichOf(resources)}: ${why}`, { cause });
}

/** @internal */
export function lostError(
  resources: readonly string[],
  reason: LostReason,
  cause?: unknown,
): RedlockError {
  const why =
    reason === 'released' || reason === 'closed' ? ended[reason] : lossLine(reason, 'this process');
  return new RedlockError('lost', `lost: ${whichOf(resources)}: ${why}`, { reason, cause });
}

const ended = {
  released: 'released: this lease was released before',
  closed: 'closed: the Redlock that acquired it was closed',
};
