// The data of the algorithm: a claim, the lease that it becomes, the replies of a master, and the
// results of a round. Expected outcomes are returned as one of several kinds, never thrown.

/** A waiter in the queue of each resource of a claim. */
export interface Waiter {
  /** Unique, and the same for the whole wait: see waiter-id.ts. */
  readonly id: string;
  /** In microseconds by the masters' clocks: a wrong clock of a client gains nothing. */
  readonly arrivalUs: number;
}

/**
 * Which other clients may hold a resource at the same time. exclusive: none. shared: any number
 * that share it. slots: one on each slot, if all ask for the same number; `slot`, from 1, is ours.
 */
export type Sharing =
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'shared' }
  | { readonly kind: 'slots'; readonly slotCount: number; readonly slot: number };

/**
 * What a newer waiter with the same setting may do to a client. supersede: take its position in the
 * queue. replace: that, and have it stop and release the lock.
 */
export type Preemptible = 'never' | 'supersede' | 'replace';

/** Held exclusively, and neither superseded nor replaced. */
export const alone = { sharing: { kind: 'exclusive' }, preemptible: 'never' } as const;

/** The entry of a refused run that does not wait. The masters count them, with one line a host. */
export interface Skip {
  /** As in history.ts, without the holder, which the masters add. */
  readonly line: string;
  readonly host: string;
  /** The same in all attempts of a run, which is counted once. Without a space. */
  readonly run: string;
  /** Whether it was refused before: a master that grants now forgets that. */
  readonly isRepeated: boolean;
}

/** The entry of a run that has begun, which a master that grants keeps until the run's end. */
export interface Start {
  readonly token: string;
  readonly line: string;
}

/** A request for locks. Token and value are new for every attempt, and prove ownership. */
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
  /** Whether the masters count for a fencing number. */
  readonly isFenced: boolean;
  /** What the masters keep of it when they refuse it; absent: nothing. */
  readonly skip?: Skip;
  /** What the masters keep of it when they grant it, until its end; absent: nothing. */
  readonly start?: Start;
  /** null: does not wait, so it never enters the queue, and is refused while others are in it. */
  readonly waiter: Waiter | null;
}

/**
 * Why a master did not vote. reply: an answer that is no vote (LOADING, OOM). denied: wrong
 * password, no rights. misconfigured: a server that must not be in the list (a replica, one twice).
 * restarted: so recently that it may have forgotten a lock that is still held.
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
  /** One line, without secrets. */
  readonly message: string;
  /** What to do about it, where the message does not say so. */
  readonly advice?: string;
  /** The message does not say why there is no connection. */
  readonly isVague?: true;
}

export interface MasterFailure {
  readonly master: string;
  readonly failed: Failed;
}

/**
 * Another value is there; or other waiters come first, and `holder` is ''. `remainingMs` null: the
 * key never expires. `position`: how many waiters are ahead of us; null: we are not in the queue.
 * `freeSlots`: free here instead of ours. `supersededBy`: the id of a newer waiter, where both are
 * preemptible. `blockedIndex`: of several resources the one that is not free for us.
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
/** A vote in a round. */
export type Reply = AcquireReply | ExtendReply | ReleaseReply;

/** A held lock. It is ours until `validUntil`, and not a moment longer unless extended. */
export interface Lease {
  readonly claim: Claim;
  /** When the round that confirmed it began, read before its first byte was sent. */
  readonly startedAt: number;
  readonly validUntil: number;
  /** The fencing number, the same for the whole life of the lease; null without fencing. */
  readonly fence: number | null;
}

/** What refusals show of a lock together. */
export interface Contention {
  /** The value that most refusals show; '' where the lock is free for the waiters ahead of us. */
  readonly holder: string;
  /** How many different foreign values were seen; 1 where a quorum shows the same. */
  readonly holderCount: number;
  /** When a quorum of the keys will have expired, unless they are extended; null: never. */
  readonly freeInMs: number | null;
  /** A quorum showed the same value or a queue: the vote is not split. */
  readonly isHeld: boolean;
  /** How many waiters are ahead of us, by the median of the masters; null: not in the queue. */
  readonly position: number | null;
  /** Of several resources the one that `holder` holds, on most masters; absent: there is one. */
  readonly blockedName?: string;
  /** The median of the masters' clocks when they refused us. */
  readonly arrivalUs: number;
  /** A slot that may be had instead of the one that was asked for; null: none. */
  readonly freeSlot: number | null;
  /** The id of a newer waiter, where a quorum names one, perhaps not the same; null: none. */
  readonly supersededBy: string | null;
}

/** `elapsedMs`: the duration of the attempt that this many masters granted. */
export interface Acquired {
  readonly kind: 'acquired';
  readonly lease: Lease;
  readonly grantedCount: number;
  readonly elapsedMs: number;
}

/** An attempt that has not acquired the lock. */
export type Failure =
  | ({ readonly kind: 'busy' } & Contention)
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] }
  /** A quorum granted, but so late that too little validity was left to start anything. */
  | { readonly kind: 'too-slow'; readonly elapsedMs: number }
  /** The servers reject the list of masters or the credentials: waiting cannot help. */
  | { readonly kind: 'misconfigured'; readonly failures: readonly MasterFailure[] };

/** What one round over the masters comes to. */
export type Attempt = Acquired | Failure;

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
      /** The waiter by which a quorum wants the holder replaced; null: none. */
      readonly replacedBy: string | null;
    }
  | { readonly kind: 'lost'; readonly reason: LossReason }
  /** Nothing is confirmed: the old validity remains, and the extension may be tried again. */
  | { readonly kind: 'unreachable'; readonly failures: readonly MasterFailure[] };

export interface Released {
  readonly releasedCount: number;
  /** A quorum answered that our value is not there, by this or before: it keeps no client out. */
  readonly isConfirmed: boolean;
  /**
   * Why no quorum can still have had our value; null: a quorum may have had it. It is a loss only
   * before the end of validity: after that, keys expire by themselves.
   */
  readonly missing: LossReason | null;
  readonly failures: readonly MasterFailure[];
}
