// Everything that a call of the library can reject with: one class, told apart by `kind`. Never for trouble that the lock survives
// (a master that is down, an extension that has to be tried again): that is told to `onEvent`. The surprise: the class decides
// nothing and makes no message; complaint.ts has them all.

import type { MasterFailure } from '../lock/types.ts';

/**
 * - `busy`: held by somebody else for all of the wait; `holder` and `freeInMs` tell what is known
 * - `superseded`: a newer one came while we waited, and both had said `supersede`
 * - `unreachable`: too few masters answered to tell who holds it; `failures` has what each of them said
 * - `too-slow`: the masters granted it too late to be of use
 * - `misconfigured`: the servers themselves say that the list of masters or the login is wrong
 * - `aborted`: the caller's signal, or `close()`, ended the wait
 * - `lost`: the lock is not, or soon will not be, proven to be ours any more; `reason` says why
 * - `usage`: a call that cannot be right, whatever the masters say
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
 * - `expired`: too few masters still show our value, or nobody extended it in time
 * - `unreachable`: no quorum extended it in time
 * - `suspended`: this process was stopped, asleep or busy when it had to be extended
 * - `released`, `closed`: by this program itself
 */
export type LostReason = 'taken' | 'expired' | 'unreachable' | 'suspended' | 'released' | 'closed';

/** What is known beside the kind. */
interface Facts {
  readonly holder?: string;
  readonly freeInMs?: number | null;
  readonly failures?: readonly MasterFailure[];
  readonly reason?: LostReason;
  readonly cause?: unknown;
}

export class RedlockError extends Error {
  override readonly name = 'RedlockError';
  readonly kind: ErrorKind;
  /**
   * What the key holds on most masters, for `busy`: `<token> <json note>`; `shared` or `slots 3` where several hold it; or whatever
   * another library has put there.
   */
  readonly holder: string | null;
  /** When the lease of that holder ends unless it is extended, for `busy`; null: never, or not known. */
  readonly freeInMs: number | null;
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
