// One Redis server as a Master. It connects at the first request and again after an error,
// identifies each new server, and turns replies into votes. The time-outs are those of round.ts.
// *Invariant:* commands keep their order only on one connection. So a connection that is given up
// is kept until what it has not answered yet is released on it as well.

import type { Clock, Master, Subscription } from '../lock/ports.ts';
import type {
  AcquireReply,
  Claim,
  ExtendReply,
  Failed,
  Granted,
  ReleaseReply,
  RepairReply,
} from '../lock/types.ts';
import { callsOf, type Protocol } from './calls/protocol.ts';
import { type Calls, type Removal, withoutWaiter } from './calls/script-calls.ts';
import { mostBytes, type Origin } from './connection/client.ts';
import { Connection } from './connection/connection.ts';
import { Subscriber } from './connection/subscriber.ts';
import { failed, isFailed } from './errors.ts';
import type { ServerIdentity, ServerRegistry } from './identity.ts';
import { channelsOf } from './keys.ts';
import type { OwnList } from './master-lists.ts';
import { acquisitionOf, extensionOf, removalOf, repairOf, repeatedRemovalOf } from './replies.ts';
import { markQuestionOf, type RestartSettings, restartFailureOf } from './restart.ts';

export interface RedisMasterSettings extends RestartSettings {
  /** What the histories of all locks under the prefix take on each master at most. */
  readonly historyBytes: number;
  readonly protocol: Protocol;
  /** Compared with the lists of other hosts; null: it is not. */
  readonly ownList: OwnList | null;
}

/** How long a connection may owe an answer until it is given up; doubled until one comes. */
const silenceLimitMs = { least: 1_000, most: 32_000 };
const always = new AbortController().signal;

/** What this master may hold for us of one value, from the request on until it is released. */
interface MayHold {
  /** The last request that may set it: a late refusal says nothing of a repair since. */
  asked: symbol;
  /** The connections that owe the answer to such a request: its release must follow on each. */
  readonly owing: Set<Connection>;
  /** Whether such a request has been sent. */
  wasSent: boolean;
  /** When a key that the last one has set is over, if the server runs. */
  endsAt: number;
  /** The release that has not been confirmed; null: none was sent. */
  removal: Removal | null;
}

export class RedisMaster implements Master {
  readonly name: string;
  readonly #origin: Origin;
  readonly #settings: RedisMasterSettings;
  readonly #calls: Calls;
  readonly #registry: ServerRegistry;
  readonly #clock: Clock;
  #connection: Connection | null = null;
  #dialing: Promise<Connection | Failed> | null = null;
  #silenceLimitMs = silenceLimitMs.least;
  /** By value; only these need a release. From the call on: it has to follow an unsent acquire. */
  readonly #mayHold = new Map<string, MayHold>();
  /** The ids under which we may be in the queue, with the last claim of each. */
  readonly #queued = new Map<string, Claim>();
  readonly #subscriber: Subscriber;
  #isClosed = false;

  constructor(
    origin: Origin,
    settings: RedisMasterSettings,
    registry: ServerRegistry,
    clock: Clock,
  ) {
    this.name = origin.name;
    this.#origin = origin;
    this.#settings = settings;
    this.#subscriber = new Subscriber(origin, clock);
    this.#calls = callsOf(settings.protocol);
    this.#registry = registry;
    this.#clock = clock;
    registry.list(this.name);
  }

  /** Connects and identifies the server. Resolves with why it cannot vote, or null. */
  async identify(): Promise<Failed | null> {
    const connection = this.#usable() ?? (await this.#connected());
    return isFailed(connection) ? connection : this.#rejectionOf(await connection.identity);
  }

  /** What the server has said about itself; null: nothing yet. */
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

  acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply> {
    const { value, isFenced } = claim;
    const { asked } = this.#request(claim);
    if (claim.waiter) {
      this.#queued.set(claim.waiter.id, claim);
      this.#subscriber.resubscribe();
    }
    const { prefix, historyBytes } = this.#settings;
    const call = this.#calls.toAcquire(claim, prefix, historyBytes);
    const read = (reply: unknown, connection: Connection) => {
      const vote = acquisitionOf(reply, isFenced ? Date.now() : null);
      if (vote.kind === 'granted') return this.#unlessRestarted(connection, vote);
      const known = this.#mayHold.get(value);
      if (vote.kind === 'refused' && known?.asked === asked && !known.removal)
        this.#mayHold.delete(value);
      return vote;
    };
    return this.#ask<AcquireReply>(withdrawn, (connection) => connection.run(call), read, claim);
  }

  extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply> {
    this.#subscriber.resubscribe();
    const held = this.#mayHold.get(claim.value);
    if (held) held.endsAt = this.#clock.now() + claim.ttlMs;
    const call = this.#calls.toExtend(claim, fence, this.#settings.prefix);
    return this.#ask(withdrawn, (connection) => connection.run(call), extensionOf);
  }

  repair(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<RepairReply> {
    this.#request(claim);
    const call = this.#calls.toRepair(claim, fence, this.#settings.prefix);
    return this.#ask(withdrawn, (connection) => connection.run(call), repairOf, claim);
  }

  release(claim: Claim, keepMs: number, line: string | null): Promise<ReleaseReply> {
    return this.#remove({ claim, keepMs, line, keepsPosition: false });
  }

  rollback(claim: Claim): Promise<ReleaseReply> {
    return this.#remove({ claim, keepMs: 0, line: null, keepsPosition: true });
  }

  /** Releases a value that no key has, because this master may have been repaired by now. */
  dequeue({ start: _, ...claim }: Claim): Promise<ReleaseReply> {
    const keyless = { ...claim, value: `not ${claim.value}` };
    return this.#remove({ claim: keyless, keepMs: 0, line: null, keepsPosition: false });
  }

  subscribe(
    resources: readonly string[],
    id: string,
    onMessage: (message: string) => void,
  ): Promise<Subscription | Failed> {
    const channels = resources.map((resource) => channelsOf(this.#settings.prefix, resource) + id);
    return this.#subscriber.subscribe(channels, onMessage);
  }

  /** Resolves when the connections have ended: `Connection.end`. It dials no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#subscriber.close();
    this.#dialing?.then((connection) => isFailed(connection) || connection.close());
    const owing = [...this.#mayHold.values()].flatMap((mayHold) => [...mayHold.owing]);
    await Promise.all([this.#connection, ...owing].map((connection) => connection?.end()));
  }

  /** Registers a request that may set the value. */
  #request({ value, ttlMs }: Claim): MayHold {
    this.#forgetOver();
    const request = { asked: Symbol('request'), endsAt: this.#clock.now() + ttlMs };
    const empty = { owing: new Set<Connection>(), wasSent: false, removal: null };
    const mayHold = Object.assign(this.#mayHold.get(value) ?? empty, request);
    this.#mayHold.set(value, mayHold);
    return mayHold;
  }

  /**
   * A server that stands still for a day would owe a release for each attempt of it. What it
   * has read by then is followed by its own release; a key left all the same ends by itself.
   */
  #forgetOver(): void {
    const now = this.#clock.now();
    for (const [value, mayHold] of this.#mayHold) {
      if (mayHold.removal === null || now < mayHold.endsAt + silenceLimitMs.most) continue;
      this.#mayHold.delete(value);
      for (const connection of mayHold.owing) this.#settle(connection, mayHold);
    }
  }

  /** The value is settled on this connection, which is closed if it was kept for that alone. */
  #settle(connection: Connection, mayHold: MayHold | undefined): void {
    mayHold?.owing.delete(connection);
    if (connection === this.#connection) return;
    if (![...this.#mayHold.values()].some(({ owing }) => owing.has(connection))) connection.close();
  }

  async #remove(removal: Removal): Promise<ReleaseReply> {
    const { claim, line, keepsPosition } = removal;
    const id = claim.waiter?.id ?? '';
    const queued = this.#queued.get(id);
    const isNeeded = this.#mayHold.has(claim.value) || (queued && !keepsPosition);
    if (!isNeeded && line === null) return { kind: 'missing' };
    this.#giveUpIfSilent();
    const mayHold = this.#mayHold.get(claim.value) ?? this.#request(claim);
    for (const retired of [...mayHold.owing].filter((one) => one !== this.#connection)) {
      void this.#release(retired, withoutWaiter(removal));
      this.#settle(retired, mayHold);
    }
    let wasSent = false;
    const sending = (one: Removal) => (connection: Connection) => {
      wasSent = true;
      mayHold.owing.delete(connection);
      mayHold.removal = removal;
      return this.#release(connection, one);
    };
    let reply = await this.#ask(always, sending(removal), removalOf);
    if (isFailed(reply) && reply.cause === 'connection' && wasSent) {
      // The connection had broken before, unnoticed: routers forget idle ones. Once more on a new
      // one; a waiter may have left the queue by then, and must not come back.
      mayHold.removal = null;
      const again = keepsPosition ? withoutWaiter(removal) : removal;
      reply = await this.#ask(always, sending(again), repeatedRemovalOf);
    }
    if (isFailed(reply) && (mayHold.wasSent || wasSent)) mayHold.removal = removal;
    else this.#mayHold.delete(claim.value);
    // A later claim under the same id has entered the queue again, and will have to leave it.
    if (!isFailed(reply) && !keepsPosition && this.#queued.get(id) === queued)
      this.#queued.delete(id);
    return reply;
  }

  /**
   * Repeats the unconfirmed releases of a broken connection on the next one, before anything else.
   */
  #catchUp(connection: Connection): void {
    for (const [value, { removal }] of this.#mayHold) {
      if (removal === null) continue;
      const reply = this.#release(connection, withoutWaiter(removal));
      reply.then((code) => isFailed(removalOf(code)) || this.#mayHold.delete(value));
    }
  }

  async #release(connection: Connection, removal: Removal): Promise<unknown> {
    const { prefix, historyBytes } = this.#settings;
    const run = (one: Removal) => connection.run(this.#calls.toRelease(one, prefix, historyBytes));
    const reply = await run(removal);
    // A user without a right to the history can release all the same.
    const { start, ...claim } = removal.claim;
    const hasLine = removal.line !== null || start !== undefined;
    const isDenied = isFailed(reply) && reply.cause === 'denied' && hasLine;
    return isDenied ? run({ ...removal, claim, line: null }) : reply;
  }

  /**
   * Sends as soon as there is a connection, unless withdrawn by then. `read` gets no Failed; `set`
   * is the claim that the request may set.
   */
  async #ask<Reply>(
    withdrawn: AbortSignal,
    send: (connection: Connection) => Promise<unknown>,
    read: (reply: unknown, connection: Connection) => Reply | Failed | Promise<Reply | Failed>,
    set: Claim | null = null,
  ): Promise<Reply | Failed> {
    const connection = this.#usable() ?? (await this.#connected());
    if (isFailed(connection)) return connection;
    if (withdrawn.aborted)
      return { ...failed('connection', 'no connection in time'), isVague: true };
    const mayHold = set ? this.#mayHold.get(set.value) : undefined;
    if (mayHold) mayHold.wasSent = true;
    mayHold?.owing.add(connection);
    const reply = await send(connection);
    if (set) this.#settle(connection, mayHold);
    if (!isFailed(reply)) this.#silenceLimitMs = silenceLimitMs.least;
    const rejection = this.#rejectionOf(connection.identified ?? (await connection.identity));
    if (rejection) connection.giveUp();
    if (rejection) return rejection;
    return isFailed(reply) ? reply : read(reply, connection);
  }

  #usable(): Connection | null {
    this.#giveUpIfSilent();
    return this.#connection?.isOpen ? this.#connection : null;
  }

  /** Gives up a connection that owes an answer for too long; keeps it for the releases on it. */
  #giveUpIfSilent(): void {
    const connection = this.#connection;
    if (!connection?.isOpen || connection.silentMs < this.#silenceLimitMs) return;
    this.#connection = null;
    this.#settle(connection, undefined);
    this.#silenceLimitMs = Math.min(this.#silenceLimitMs * 2, silenceLimitMs.most);
  }

  async #connected(): Promise<Connection | Failed> {
    if (this.#isClosed) return failed('connection', 'closed');
    const [mark, { ownList }] = [markQuestionOf(this.#settings, true), this.#settings];
    const meeting = { mostBytes: mostBytes.lock, mark, ownList };
    this.#dialing ??= Connection.dial(this.#origin, this.#clock, meeting).then((connection) => {
      this.#dialing = null;
      this.#connection = isFailed(connection) ? null : connection;
      if (isFailed(connection)) return connection;
      this.#catchUp(connection);
      return connection;
    });
    return this.#dialing;
  }

  #unlessRestarted(connection: Connection, vote: Granted): Granted | Promise<Granted | Failed> {
    const [registry, clock] = [this.#registry, this.#clock];
    const checked = { connection, name: this.name, registry, clock, mayWrite: true };
    const restartFailure = restartFailureOf(checked, this.#settings);
    return restartFailure === null ? vote : restartFailure.then((failure) => failure ?? vote);
  }

  #rejectionOf(identity: ServerIdentity | Failed): Failed | null {
    return isFailed(identity) ? identity : this.#registry.admit(this.name, identity);
  }
}
