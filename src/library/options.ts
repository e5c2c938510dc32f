// The options of the library, for all locks of a Redlock or for one call, and the forms in which a
// program names its masters. All durations are in ms. *Note:* an option of a call that is undefined
// counts as not given, so that the value for all locks applies.

import { randomBytes } from 'node:crypto';
import type { LockEvent } from '../lock/ports.ts';

/**
 * A client of ioredis 4 or newer. The library never uses, connects or closes it, only duplicates.
 * The type has only the members that the library uses, which every version from 4 on has, so that
 * the library does not depend on the package. `call` tells these clients from those of other
 * packages, which have `duplicate` as well.
 */
export interface IoredisClient {
  readonly options: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly path?: string | undefined;
    readonly db?: number | undefined;
  };
  duplicate(override: object): object;
  call(command: string, ...args: string[]): Promise<unknown>;
}

/**
 * `redis://[user[:password]@]host[:port][/db]`, `rediss://`, `unix:///path`,
 * `redis+sentinel://[user[:password]@]host:port,host:port/NAME[/db]`, or a client of ioredis.
 */
export type MasterSource = string | IoredisClient;

/** The resources to lock: one, or several of which all or none are held. */
export type Resources = string | readonly string[];

/** A count of attempts instead of a wait, without a position in the wait queue. */
export interface RetryOptions {
  /** How many retries there are after the first attempt; Infinity is allowed. */
  readonly count: number;
  /**
   * The pause between two attempts; a function gets the number of attempts so far. Default: 200.
   */
  readonly delayMs?: number | ((attemptCount: number) => number) | undefined;
  /** A random time, up to this, is added to each pause. Default: 0. */
  readonly jitterMs?: number | undefined;
}

/** For all locks of a Redlock; an option of a call wins for that call. */
export interface LockOptions {
  /** How long to wait for a held lock; null: without limit; 0: try once. Default: null. */
  readonly waitMs?: number | null | undefined;
  /** How long to retry while too few masters answer, at most `waitMs`. Default: 10000. */
  readonly giveUpAfterMs?: number | undefined;
  /** A count of retries instead of a wait. */
  readonly retries?: RetryOptions | null | undefined;
  /** How long one master may take to answer. Default: ttl/20, between 50 and 2000. */
  readonly masterTimeoutMs?: number | undefined;
  /** How long before the end of validity the signal fires. Default: ttl/4, at most 5000. */
  readonly reserveMs?: number | undefined;
  /** By which part the rates of clocks may differ. Default: 0.01. */
  readonly driftFactor?: number | undefined;
  /** Whether the masters mint a fencing number. Default: true. */
  readonly fence?: boolean | undefined;
  /**
   * The name of the holder that people are shown; no secrets. Default: the base name of the
   * program.
   */
  readonly label?: string | undefined;
}

export interface AcquireOptions extends LockOptions {
  /** Ends the wait. A lock that is held by then stays held. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the lock is extended until it is released. Default: false; always true in `using`. */
  readonly keepAlive?: boolean | undefined;
  /** Whether the lock is held together with other shared holders. Default: false. */
  readonly shared?: boolean | undefined;
  /**
   * How many holders there may be at a time, 1 to 1000; the same number in all programs that use
   * the lock. For one resource. Default: 1.
   */
  readonly slots?: number | undefined;
  /** Whether the wait ends when a newer waiter with this option comes. Default: false. */
  readonly supersede?: boolean | undefined;
}

export interface RedlockOptions extends LockOptions {
  /** What every key on the masters begins with. Default: `redlock:`, as for the programs. */
  readonly prefix?: string | undefined;
  /**
   * How long a master does not vote after a restart that may have lost keys. Default: the longest
   * ttl asked for so far with three masters or more; 0 with fewer.
   */
  readonly restartGraceMs?: number | undefined;
  /**
   * Where another host has lately used masters that could grant a lock beside these. `warn`: the
   * event `masters-differ`; `error`: `acquire` rejects too; `ignore`: nothing is compared, or
   * recorded on the masters. Default: `warn`.
   */
  readonly differingMasters?: 'warn' | 'error' | 'ignore' | undefined;
  /**
   * Returns a new token for every attempt: unique, 8 to 200 characters without white space.
   * Default: 20 random bytes.
   */
  readonly newToken?: (() => string) | undefined;
  /** Gets the events of waits and of failures that locks survive; `resource` is the first one. */
  readonly onEvent?:
    | ((event: LockEvent, resource: string, resources: readonly string[]) => void)
    | undefined;
}

/** What holds where neither the Redlock nor the call has the option, as for the programs. */
export const defaultOptions = {
  prefix: 'redlock:',
  differingMasters: 'warn',
  waitMs: null,
  giveUpAfterMs: 10_000,
  retries: null,
  fence: true,
  label: null,
  keepAlive: false,
  slots: null,
  newToken: () => randomBytes(20).toString('base64url'),
} as const;

export const defaultRetries = { delayMs: 200, jitterMs: 0 } as const;
