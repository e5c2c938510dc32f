// What a program can set, for all locks of a Redlock or for one of them. All durations in ms; nothing here knows how they depend on one
// another (timings.ts). The surprise: undefined means the same as not given, also where something else was given for all locks.

import type { LockEvent } from '../lock/events.ts';

/** What is locked: one resource, or several of which all or none are held. */
export type Resources = string | readonly string[];

/** A count of attempts instead of a wait: no place in the queue, and whoever asks at the right moment wins. */
export interface RetryOptions {
  /** After the first attempt; Infinity is allowed. */
  readonly count: number;
  /** Between two attempts: 200 unless given. As a function: of how many attempts there were. */
  readonly delayMs?: number | ((attemptCount: number) => number) | undefined;
  /** A random part of this is added to each pause: none unless given. */
  readonly jitterMs?: number | undefined;
}

/** For all locks of a Redlock; the same in a call counts for that call. */
export interface LockOptions {
  /** How long to wait while somebody else holds the lock: null, for ever, unless given; 0 tries once. */
  readonly waitMs?: number | null | undefined;
  /** How long to go on while too few masters answer: 10000 unless given, and never longer than `waitMs`. */
  readonly giveUpAfterMs?: number | undefined;
  /** Instead of a wait. */
  readonly retries?: RetryOptions | null | undefined;
  /** How long one master may take to answer: a twentieth of the ttl, between 50 and 2000, unless given. */
  readonly masterTimeoutMs?: number | undefined;
  /** How long before the end of validity the signal fires: a quarter of the ttl, at most 5000, unless given. */
  readonly reserveMs?: number | undefined;
  /** By how much clocks may differ in rate, as a part of the time: 0.01 unless given. */
  readonly driftFactor?: number | undefined;
  /** Whether the masters count for a fencing number: true unless given. */
  readonly fence?: boolean | undefined;
  /** Who holds the lock, for the people who ask: the base name of the program unless given. No secrets. */
  readonly label?: string | undefined;
}

export interface AcquireOptions extends LockOptions {
  /** Ends the wait. What is held by then stays held. */
  readonly signal?: AbortSignal | undefined;
  /** Extends the lock until it is released: false unless given, and always so in `using`. */
  readonly keepAlive?: boolean | undefined;
  /** Whether others who share it may hold it as well: false unless given. */
  readonly shared?: boolean | undefined;
  /** How many may hold it at a time, 1 to 1000, all of whom say the same: 1 unless given. For one resource. */
  readonly slots?: number | undefined;
  /** Whether our place in the queue is given up for a newer waiter who says the same: false unless given. */
  readonly supersede?: boolean | undefined;
}

export interface RedlockOptions extends LockOptions {
  /** What every key on the masters begins with: `redlock:`, as the programs have it, unless given. */
  readonly prefix?: string | undefined;
  /**
   * How long after a restart that may have lost keys a server does not vote: with three masters or more the longest ttl asked for so
   * far, with fewer 0, unless given.
   */
  readonly restartGraceMs?: number | undefined;
  /** A new token for every attempt, which nobody else ever has: 20 random bytes unless given. No white space. */
  readonly newToken?: (() => string) | undefined;
  /** Told of everything that the lock survives, and of waits; `resource` is the first of `resources`. */
  readonly onEvent?:
    | ((event: LockEvent, resource: string, resources: readonly string[]) => void)
    | undefined;
}
