// What the parts of the algorithm exchange: a claim, the lease that it becomes, the replies of a
// master, and the results of a round. Expected outcomes are returned as one of several kinds, never
// thrown.

/** A waiter in the queue of each resource of a claim. */
export interface Waiter {
  /**
   * Unique, and the same for as long as the wait lasts. Its beginning names traits: waiter-id.ts.
   */
  readonly id: string;
  /**
   * Its arrival in microseconds by the masters' clocks: a wrong clock of a client gains nothing.
   */
  readonly arrivalUs: number;
}

/**
 * Which other clients may hold a resource at the same time. exclusive: none. shared: any number of
 * others that share it. slots: as many as there are slots, if all of them ask for the same number
 * of slots; `slot`, from 1 on, is ours alone.
 */
export type Sharing =
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'shared' }
  | { readonly kind: 'slots'; readonly slotCount: number; readonly slot: number };

/**
 * What a newer waiter of the same setting may do to a client. never: nothing. supersede: take its
 * position in the queue. replace: that, and have it stop and release the lock.
 */
export type Preemptible = 'never' | 'supersede' | 'replace';

/** Held exclusively, and neither superseded nor replaced. */
export const alone = { sharing: { kind: 'exclusive' }, preemptible: 'never' } as const;

/**
 * What a run leaves in the history that is refused and does not wait. The masters keep one line for
 * each host, with a count.
 */
export interface Skip {
  /** As in history.ts, without the holder, which the masters add. */
  readonly line: string;
  readonly host: string;
  /** The same in all attempts of a run, which is counted once. Without a space. */
  readonly run: string;
  /** Whether it was refused before: a master that grants now forgets that. */
  readonly isRepeated: boolean;
}

/** That a run has begun, which a master that grants keeps until its line comes. */
export interface Start {
  readonly token: string;
  /** As in history.ts. */
  readonly line: string;
}

/**
 * What one client asks of the masters. Token and value are unique, new for every attempt, and prove
 * ownership.
 */
export interface Claim {
  /** All of them are held, or none. At least one, none of them twice. */
  readonly resources: readonly string[];
  readonly sharing: Sharing;
  readonly preemptible: Preemptible;
  readonly token: string;
  /** `<token> <holder record>`, compared whole by the masters: see value.ts. */
  readonly value: string;
  /** The time to live of the keys, counted by each master from the moment when it grants. */
  readonly ttlMs: number;
  /** Whether the masters count for a fencing number: see quorum.ts. */
  readonly isFenced: boolean;
  /** What the masters keep of it when they refuse it; absent: nothing. */
  readonly skip?: Skip;
  /** What the masters keep of it when they grant it, until its end; absent: nothing. */
  readonly start?: Start;
  /** null: does not wait, so it never enters the queue, and is refused while others are in it. */
  readonly waiter: Waiter | null;
}

/**
 * Why a master did not vote: no answer by the deadline; no connection; an answer that is no vote
 * (LOADING, READONLY, OOM); access refused (wrong password, no rights); a server that must not be
 * in the list (a replica, one twice); or one that restarted so recently that it may have forgotten
 * a lock that is still held.
 */
export type FailureCause =
  | 'timeout'
  | 'connection'
  | 'reply'
  | 'denied'
  | 'misconfigured'
  | 'restarted';

export interface Failed {
  readonly kind: 'failed';
  readonly cause: FailureCause;
  /** One line for people, without secrets. */
  readonly message: string;
  /** What to do about it, where the message does not say so. */
  readonly advice?: string;
  /** It says only that there is no connection, not why. */
  readonly isVague?: true;
}

export interface MasterFailure {
  readonly master: string;
  readonly failed: Failed;
}

/**
 * Another value is there, or other waiters come first: then `holder` is empty. `remainingMs` is
 * null for a key that never expires. `position` is ours: how many are before us in the queue;
 * null: we are not in it. `freeSlots`: slots that are free here instead of the one that was asked
 * for. `supersededBy`: the id of a newer waiter, where both are preemptible. `blockedIndex`: of
 * several resources the one that is not free for us.
 */
export interface Refused {
  readonly kind: 'refused';
  readonly holder: string;
  readonly remainingMs: number | null;
  readonly position: number | null;
  readonly masterTimeUs: number;
  readonly freeSlots?: readonly number[];
  readonly supersededBy?: string;
  readonly blockedIndex?: number;
}

/** `fence` is what this master's counter has been raised to; null for a claim without one. */
export interface Granted {
  readonly kind: 'granted';
  readonly fence: number | null;
}

/**
 * `masterTimeMs` is the master's time of day, by which it expires keys. `replacedBy`: the id of a
 * waiter by which the holder is to be replaced; absent: there is none.
 */
export interface Extended {
  readonly kind: 'extended';
  readonly masterTimeMs: number;
  readonly replacedBy?: string;
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

/** A held lock. It is exclusive until `validUntil`, and not a moment longer unless extended. */
export interface Lease {
  readonly claim: Claim;
  /** When the round that confirmed it began, read before its first byte was sent. */
  readonly startedAt: number;
  readonly validUntil: number;
  /** The fencing number, the same for the whole life of the lease; null without fencing. */
  readonly fence: number | null;
}

export interface Contention {
  /** The value that most refusals show; '' where the lock is free for the waiters before us. */
  readonly holder: string;
  /** How many different foreign values were seen; 1 where a quorum shows the same. */
  readonly holderCount: number;
  /** When a quorum of the keys will have expired, unless they are extended; null: never. */
  readonly freeInMs: number | null;
  /**
   * A quorum showed the same foreign value or a queue: the vote is not split, and there is no use
   * in trying again at once.
   */
  readonly isHeld: boolean;
  /** Our position: how many are before us, by the median of the masters; null: not in the queue. */
  readonly position: number | null;
  /** Of several resources the one that `holder` holds, on most masters; null: there is only one. */
  readonly blockedIndex: number | null;
  /** The median of the masters' clocks when they refused us. */
  readonly arrivalUs: number;
  /** A slot that may be had instead of the one that was asked for; null: none. */
  readonly freeSlot: number | null;
  /**
   * The id of a newer waiter, where both are preemptible, and a quorum of masters names one, though
   * perhaps not the same; null: there is none.
   */
  readonly supersededBy: string | null;
}

export type Attempt =
  | { readonly kind: 'acquired'; readonly lease: Lease; readonly grantedCount: number }
  /** See contentionOf for what is known of the holder. */
  | ({ readonly kind: 'busy' } & Contention)
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] }
  /** A quorum granted, but so late that too little validity was left to start anything. */
  | { readonly kind: 'too-slow'; readonly elapsedMs: number }
  | { readonly kind: 'misconfigured'; readonly failures: readonly MasterFailure[] };

/**
 * expired: too few masters still show our value, or they confirmed it only after its validity had
 * ended. taken: too few show it, and some show another value.
 */
export type LossReason = 'taken' | 'expired';

export type Extension =
  | {
      readonly kind: 'extended';
      readonly lease: Lease;
      readonly extendedCount: number;
      /** The waiter that a quorum names, by which the holder is to be replaced; null: none. */
      readonly replacedBy: string | null;
    }
  | { readonly kind: 'lost'; readonly reason: LossReason }
  /** Nothing is confirmed: the old validity stands, and the extension may be tried again. */
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] };

export interface Released {
  readonly releasedCount: number;
  /** A quorum answered that our value is not there, by this or before: it keeps no client out. */
  readonly isConfirmed: boolean;
  /**
   * Why no quorum can still have had our value; before the end of its validity that is a loss.
   * null: a quorum may have had it.
   */
  readonly missing: LossReason | null;
  readonly failures: readonly MasterFailure[];
}
