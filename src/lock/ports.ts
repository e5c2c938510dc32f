// The contracts between the algorithm and the world: a master, a clock and a source of randomness. Nothing here does
// anything. The surprise: a call on a master may fail, may never answer, may answer late, and may have taken effect in
// all three cases. Every caller is written for that.

/** A place in the queue of each resource of a claim. */
export interface Waiter {
  /** Ours alone, for as long as we wait; its beginning says what kind of waiter we are: see waiter-id.ts. */
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
  /** `<token> <json note>`, compared whole by the masters: see holder.ts. */
  readonly value: string;
  /** Validity asked of the masters, counted by each of them from the moment it grants. */
  readonly ttlMs: number;
  /** Whether the masters count for a fencing number: see fence.ts. */
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

export interface Gone {
  readonly kind: 'gone';
}

export type AcquireReply = Granted | Refused | Failed;
export type ExtendReply = Extended | Taken | Gone | Failed;
export type HealReply = { readonly kind: 'healed' } | Taken | Failed;
export type ReleaseReply = { readonly kind: 'released' } | Taken | Gone | Failed;

/** An ear for the call that it is our turn. It is a hint: it may be lost, and may come when it is not. */
export interface Ear {
  close(): void;
}

/**
 * One independent Redis master. Replies never reject: trouble is a `Failed`. `withdrawn` says that the caller no longer
 * wants the call made: what was not sent by then must never be sent (what was sent cannot be unsent). Calls on one
 * master take effect in the order in which they were made; a release that follows an acquire undoes it also when the
 * acquire has not been answered, and is never withdrawn: a value that was released is not used again, so late is not wrong.
 */
export interface Master {
  /** For messages; without secrets. */
  readonly name: string;
  /**
   * Sets our value where the resources are free for us or ours already and nobody is before us in the queue, and counts for
   * the fence. A waiter that is refused takes or keeps his place; every call is his sign of life.
   */
  acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply>;
  /**
   * Where the value is ours: sets the time to live anew and raises the counter of the fence to at least `fence`. Writes
   * nothing otherwise.
   */
  extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply>;
  /** Sets our value where the key is absent (or ours), and raises the counter: for a holder whose lease is proven. */
  heal(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<HealReply>;
  /**
   * Removes the key where the value is ours, or with `keepMs` above 0 lets it expire so much later instead. Gives up our place
   * in the queue, and calls the first in it where the key is free then. `record` is a line for the history (record.ts), which is kept
   * as far as the master can, and perhaps twice; it never costs the release anything.
   */
  release(claim: Claim, keepMs: number, record?: string | null): Promise<ReleaseReply>;
  /** The same after an attempt that did not win a quorum: the key goes, our place in the queue stays. */
  giveBack(claim: Claim): Promise<ReleaseReply>;
  /** Gives up our place in the queue, and nothing else: for who holds the lock on a quorum, where a master has refused him. */
  leaveLine(claim: Claim): Promise<ReleaseReply>;
  /** Calls back whenever the waiter of the claim is called on this master. */
  listen(claim: Claim, onCall: () => void): Promise<Ear | Failed>;
}

/** Elapsed time. Pessimistic: it may run ahead of true time, and never behind it by more than the drift allowance. */
export interface Clock {
  /** Milliseconds since some instant; never goes back, does not stand still while the machine sleeps. */
  now(): number;
  /** Resolves after so many ms by this clock, or as soon as `cancelled` aborts; never rejects. */
  sleep(durationMs: number, cancelled?: AbortSignal): Promise<void>;
}

/** A number in [0, 1), drawn anew at each call. */
export type Random = () => number;
