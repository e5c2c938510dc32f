// What the parts of the algorithm exchange: a claim, the lease that it becomes, what a master replies,
// and what a round comes to. Expected outcomes are returned as one of several kinds, never thrown.

/** A place in the queue of each resource of a claim. */
export interface Waiter {
  /** Ours alone, for as long as we wait; its beginning says what kind of waiter we are: see value.ts. */
  readonly id: string;
  /** When we came, in microseconds by the masters' own clocks: nobody gains by a wrong clock of his own. */
  readonly arrivalUs: number;
}

/**
 * Who else may hold a resource at the same time. exclusive: nobody. shared: any number of others who share it. slots: as many
 * as there are slots, and all of them say the same number of slots; `slot`, from 1 on, is ours alone.
 */
export type Sharing =
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'shared' }
  | { readonly kind: 'slots'; readonly slotCount: number; readonly slot: number };

/**
 * What is given up for a newer waiter who yields as well. never: nothing. place: our place in the queue. lock: the place, and
 * the lock when we hold it.
 */
export type Yields = 'never' | 'place' | 'lock';

/** Held by nobody else, and given up for nobody. */
export const alone = { sharing: { kind: 'exclusive' }, yields: 'never' } as const;

/** One wish to hold resources. The value is ours alone, new for every acquisition, and proves ownership. */
export interface Claim {
  /** All of them are held, or none. At least one, none of them twice. */
  readonly resources: readonly string[];
  readonly sharing: Sharing;
  readonly yields: Yields;
  /** `<token> <json note>`, compared whole by the masters: see value.ts. */
  readonly value: string;
  /** Validity asked of the masters, counted by each of them from the moment it grants. */
  readonly ttlMs: number;
  /** Whether the masters count for a fencing number: see quorum.ts. */
  readonly isFenced: boolean;
  /** null: we do not wait, so we take no place in the queue and are refused while others have one. */
  readonly waiter: Waiter | null;
}

/**
 * Why a master did not vote: no answer by the deadline; no connection; an answer that is no vote (LOADING, READONLY,
 * OOM); access refused (wrong password, no rights); a server that must not be in the list (a replica, one twice); or one
 * that restarted so lately that it may have forgotten a lock that somebody still holds.
 */
export type FailureCause = 'timeout' | 'connection' | 'reply' | 'denied' | 'unfit' | 'restarted';

export interface Failed {
  readonly kind: 'failed';
  readonly cause: FailureCause;
  /** One line for people, without secrets. */
  readonly message: string;
}

export interface MasterFailure {
  readonly master: string;
  readonly failed: Failed;
}

/**
 * Somebody else's value stands in the way, or others who came first: then `holder` is empty. `remainingMs` is null for a
 * key that never expires by itself. `place` counts those before us in the queue; null: we are not in it. `freeSlots`: what
 * could be had here instead of the slot that was asked for. `supersededBy`: the id of a newer waiter, where both yield.
 */
export interface Refused {
  readonly kind: 'refused';
  readonly holder: string;
  readonly remainingMs: number | null;
  readonly place: number | null;
  readonly masterTimeUs: number;
  readonly freeSlots?: readonly number[];
  readonly supersededBy?: string;
}

/** `fence` is what this master's counter has been raised to; null for a claim without one. */
export interface Granted {
  readonly kind: 'granted';
  readonly fence: number | null;
}

/**
 * `masterTimeMs` is the master's own time of day, which its expiry goes by. `wantedBy`: the id of a waiter for whom the lock
 * would be given up; absent: there is none.
 */
export interface Extended {
  readonly kind: 'extended';
  readonly masterTimeMs: number;
  readonly wantedBy?: string;
}

export interface Taken {
  readonly kind: 'taken';
}

export interface Missing {
  readonly kind: 'missing';
}

export type AcquireReply = Granted | Refused | Failed;
export type ExtendReply = Extended | Taken | Missing | Failed;
export type RepairReply = { readonly kind: 'repaired' } | Taken | Failed;
export type ReleaseReply = { readonly kind: 'released' } | Taken | Missing | Failed;

/** A held lock with its validity. It is exclusive until `validUntil`, and not a moment longer unless extended. */
export interface Lease {
  readonly claim: Claim;
  /** When the round that proved it began, read before its first byte was sent. */
  readonly startedAt: number;
  readonly validUntil: number;
  /** The fencing number, the same for the whole life of the lease; null without fencing. */
  readonly fence: number | null;
}

/** A lock that a run around this one has taken, as far as that has told. */
export interface EnclosingLease {
  readonly names: readonly string[];
  /** Empty where it was not told; then nothing can prove it. */
  readonly token: string;
  readonly fence: number | null;
  readonly ttlMs: number;
}

export interface Contention {
  /** What most of those that refused show; '' where it is no value, and the lock is free for those before us. */
  readonly holder: string;
  /** How many different foreign values were seen; 1 where a quorum shows the same. */
  readonly holderCount: number;
  /** When enough keys will have expired for a quorum to be free, if nobody extends; null: never by themselves. */
  readonly freeInMs: number | null;
  /** One foreign value, or a queue where there was none, was seen on a quorum: no split vote, and no use in trying again. */
  readonly isHeld: boolean;
  /** How many are before us, as most masters see it; null: we are not in the queue. */
  readonly place: number | null;
  /** The median of the masters' clocks when they refused us. */
  readonly arrivalUs: number;
  /** A slot that may be had instead of the one that was asked for; null: none. */
  readonly freeSlot: number | null;
  /** A newer waiter, where both yield, and a quorum of masters tells us of one, if not of the same; null: there is none. */
  readonly supersededBy: string | null;
}

export type Attempt =
  | { readonly kind: 'acquired'; readonly lease: Lease; readonly grantedCount: number }
  /** See contentionOf for what is known of the holder. */
  | ({ readonly kind: 'busy' } & Contention)
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] }
  /** A quorum granted, but so late that too little validity was left to start anything. */
  | { readonly kind: 'too-slow'; readonly elapsedMs: number }
  | { readonly kind: 'unfit'; readonly failures: readonly MasterFailure[] };

/** expired: too few masters still show our value, or showed it only after it had ended; taken: and some show another's. */
export type LossReason = 'taken' | 'expired';

export type Extension =
  | {
      readonly kind: 'extended';
      readonly lease: Lease;
      readonly extendedCount: number;
      /** A waiter for whom we would give it up, as a quorum says; null: there is none. */
      readonly wantedBy: string | null;
    }
  | { readonly kind: 'lost'; readonly reason: LossReason }
  /** Nothing proven either way: the old validity stands, and the extension may be tried again. */
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] };

export interface Released {
  readonly releasedCount: number;
  /** A quorum said that our value is gone, so nobody is kept out by it. */
  readonly isConfirmed: boolean;
  /** So many masters did not show it any more that no quorum had it: before its validity has ended, that is a loss. null: not so. */
  readonly missing: LossReason | null;
  readonly failures: readonly MasterFailure[];
}
