// A server and the connection to it: dialled at the first request and again after an error, given
// up when the server owes an answer for too long. Each server that answers is identified, and one
// that may not vote answers nothing else either. The time-outs are those of round.ts.
// *Invariant:* commands keep their order only on one connection. So a connection that is given up
// is kept until what it has not answered yet is released on it as well: see unreleased.ts.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../lock/ports.ts';
import type { Claim, Failed } from '../lock/types.ts';
import { callOf } from './calls/script-calls.ts';
import { maxReplyBytes, type Origin } from './connection/client.ts';
import { Connection } from './connection/connection.ts';
import { failed, isFailed } from './errors.ts';
import type { ServerIdentity, ServerRegistry } from './identity.ts';
import { beside, type Protocol } from './keys.ts';
import { areMarked, restartFailureOf } from './restart.ts';
import { silenceLimitMs, Unreleased } from './unreleased.ts';

export interface ServerSettings {
  readonly prefix: string;
  /** How long grants do not count after a restart; 0: they always do. */
  readonly restartGraceMs: number;
  /** What the histories of all locks under the prefix take on each server at most. */
  readonly historyBytes: number;
  readonly protocol: Protocol;
}

/**
 * lock: locks are taken here. look: they are only read, or changed by an operator; replies may be
 * long, and connecting writes nothing.
 */
export type ServerUse = 'lock' | 'look';

const always = new AbortController().signal;

export abstract class ConnectedServer<From extends Origin> {
  readonly name: string;
  readonly origin: From;
  /** Whether the server has ever reported what it is. */
  hasAnswered = false;
  protected readonly settings: ServerSettings;
  protected readonly clock: Clock;
  protected readonly unreleased: Unreleased;
  readonly #registry: ServerRegistry;
  readonly #use: ServerUse;
  #connection: Connection | null = null;
  #dialing: Promise<Connection | Failed> | null = null;
  #silenceLimitMs = silenceLimitMs.min;
  #isClosed = false;

  constructor(
    origin: From,
    settings: ServerSettings,
    registry: ServerRegistry,
    clock: Clock,
    use: ServerUse,
  ) {
    this.name = origin.name;
    this.origin = origin;
    this.settings = settings;
    this.clock = clock;
    this.unreleased = new Unreleased(clock, (connection) => connection === this.#connection);
    this.#registry = registry;
    this.#use = use;
    registry.list(this.name);
  }

  /** Sends what must come first on a new connection. */
  protected abstract onConnected(connection: Connection): void;

  /** Connects and identifies the server. Resolves with why it cannot vote, or null. */
  async identify(): Promise<Failed | null> {
    const connection = await this.connected();
    return isFailed(connection) ? connection : this.#rejectionOf(await connection.identity);
  }

  /** What the server has reported of itself; null: nothing yet. */
  get identity(): ServerIdentity | Failed | null {
    return this.#connection?.identified ?? null;
  }

  /** Whether the server has asked for no password, although one is configured. */
  get isLoginIdle(): boolean {
    return this.#connection?.isLoginIdle ?? false;
  }

  /** Why the server must not be in the list of masters, as far as is known; null: it may be. */
  get rejection(): Failed | null {
    const rejection = this.identity && this.#rejectionOf(this.identity);
    return rejection?.cause === 'misconfigured' ? rejection : (this.#connection?.rejection ?? null);
  }

  /**
   * Why grants do not count yet: the server restarted, and may have forgotten locks. null: they do.
   */
  async restartFailure(): Promise<Failed | null> {
    const connection = await this.connected();
    if (isFailed(connection)) return connection;
    // No command may have been sent yet, so the identity may be unknown.
    const identity = await connection.identity;
    if (isFailed(identity)) connection.giveUp();
    if (isFailed(identity)) return identity;
    this.#registry.admit(this.name, identity);
    return this.restartFailureOn(connection);
  }

  /** The connection; a new one after an error. */
  async connected(): Promise<Connection | Failed> {
    const connection = this.#usable();
    if (connection !== null) return connection;
    if (this.#isClosed) return failed('connection', 'closed');
    this.#dialing ??= this.#dial();
    return this.#dialing;
  }

  /** Resolves when the connections have ended, at this instant at the latest. It dials no more. */
  async close(endsAt: number): Promise<void> {
    this.#isClosed = true;
    this.#dialing?.then((connection) => isFailed(connection) || connection.close());
    const connections = [this.#connection, ...this.unreleased.owing()];
    await Promise.all(connections.map((connection) => connection?.end(endsAt)));
  }

  /**
   * Sends as soon as there is a connection, unless withdrawn by then. `read` gets no Failed; `set`
   * is the claim that the request may set.
   */
  protected async ask<Reply>(
    send: (connection: Connection) => Promise<unknown>,
    read: (reply: unknown, connection: Connection) => Reply | Failed | Promise<Reply | Failed>,
    withdrawn: AbortSignal = always,
    set: Claim | null = null,
  ): Promise<Reply | Failed> {
    const connection = this.#usable() ?? (await this.connected());
    if (isFailed(connection)) return connection;
    if (withdrawn.aborted)
      return { ...failed('connection', 'no connection in time'), isVague: true };
    const mayHold = set ? this.unreleased.get(set.value) : undefined;
    if (mayHold) mayHold.wasSent = true;
    mayHold?.owing.add(connection);
    const reply = await send(connection);
    if (set) this.unreleased.settle(connection, mayHold);
    if (!isFailed(reply)) this.#silenceLimitMs = silenceLimitMs.min;
    const rejection = this.#rejectionOf(connection.identified ?? (await connection.identity));
    if (rejection) connection.giveUp();
    if (rejection) return rejection;
    return isFailed(reply) ? reply : read(reply, connection);
  }

  protected get connection(): Connection | null {
    return this.#connection;
  }

  #usable(): Connection | null {
    this.giveUpIfSilent();
    return this.#connection?.isOpen ? this.#connection : null;
  }

  /** Gives up a connection that owes an answer for too long; keeps it for the releases on it. */
  protected giveUpIfSilent(): void {
    const connection = this.#connection;
    if (!connection?.isOpen || connection.silentMs < this.#silenceLimitMs) return;
    this.#connection = null;
    this.unreleased.settle(connection);
    this.#silenceLimitMs = Math.min(this.#silenceLimitMs * 2, silenceLimitMs.max);
  }

  /** Null where that needs no question. */
  protected restartFailureOn(connection: Connection): Promise<Failed | null> | null {
    const { name, clock, settings } = this;
    const [registry, mayWrite] = [this.#registry, this.#use === 'lock'];
    return restartFailureOf({ ...settings, connection, name, registry, clock, mayWrite });
  }

  async #dial(): Promise<Connection | Failed> {
    const { prefix, restartGraceMs, protocol } = this.settings;
    const isLocking = this.#use === 'lock';
    const isMarked = areMarked(restartGraceMs, protocol);
    const maxBytes = isLocking ? maxReplyBytes.lock : maxReplyBytes.look;
    // Where there is no mark, a look writes none.
    const newId = isLocking ? randomBytes(10).toString('hex') : '';
    const mark = isMarked ? callOf('mark', [beside(prefix, 'mark')], { newId }) : null;
    let connection: Connection | Failed;
    try {
      connection = await Connection.dial(this.origin, this.clock, maxBytes, mark);
    } finally {
      this.#dialing = null;
    }
    this.#connection = isFailed(connection) ? null : connection;
    if (isFailed(connection)) return connection;
    void connection.identity.then((identity) => {
      if (!isFailed(identity)) this.hasAnswered = true;
    });
    this.onConnected(connection);
    return connection;
  }

  #rejectionOf(identity: ServerIdentity | Failed): Failed | null {
    return isFailed(identity) ? identity : this.#registry.admit(this.name, identity);
  }
}
