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
import { type Calls, channelNamesOf, type Undoing, withoutWaiter } from './calls/script-calls.ts';
import type { Origin } from './connection/client.ts';
import { Connection } from './connection/connection.ts';
import { Subscriber } from './connection/subscriber.ts';
import { failed, isFailed } from './errors.ts';
import type { ServerIdentity, ServerRegistry } from './identity.ts';
import { acquisitionOf, extensionOf, removalOf, repairOf, repeatedRemovalOf } from './replies.ts';
import { graceFailureOf } from './restart.ts';

export interface RedisMasterSettings {
  readonly prefix: string;
  /** How long after a restart that may have lost keys grants do not count; 0: they always do. */
  readonly restartGraceMs: number;
  /** What the history of all locks takes at most; default: 64 MB. */
  readonly historyBytes?: number;
  readonly protocol?: Protocol;
  /** The time of day in ms, which bounds fencing numbers; default: that of this machine. */
  readonly wallMs?: () => number;
}

/** How long a connection may owe an answer until it is given up; doubled until one comes. */
const patienceMs = { least: 1_000, most: 30_000 };
/** The limit of one reply; those of the scripts have a few kilobytes. */
const mostReplyBytes = 1024 * 1024;
const always = new AbortController().signal;

export class RedisMaster implements Master {
  readonly name: string;
  readonly #origin: Origin;
  readonly #settings: RedisMasterSettings;
  readonly #calls: Calls;
  readonly #registry: ServerRegistry;
  readonly #clock: Clock;
  #connection: Connection | null = null;
  #dialing: Promise<Connection | Failed> | null = null;
  #patienceMs = patienceMs.least;
  /**
   * The values that were requested and not released since: only these need a release. From the call
   * on, not from the sending: a release that is called while the connection is being made has to
   * follow the acquire. With each value, its last request: a late refusal says nothing of a repair
   * since.
   */
  readonly #mayHold = new Map<string, symbol>();
  /**
   * Connections given up while they owed the answer to a SET, by value: its release must follow.
   */
  readonly #retired = new Map<string, Connection>();
  /** The releases that were not confirmed, by value. */
  readonly #unconfirmed = new Map<string, Undoing>();
  /** The ids under which we may be in the queue, with the last claim of each. */
  readonly #queued = new Map<string, Claim>();
  readonly #subscriber: Subscriber;
  /** The values for which the present connection owes the answer to a SET. */
  readonly #unanswered = new Set<string>();

  constructor(
    origin: Origin,
    settings: RedisMasterSettings,
    registry: ServerRegistry,
    clock: Clock,
  ) {
    this.name = origin.name;
    this.#origin = origin;
    this.#settings = settings;
    this.#subscriber = new Subscriber(origin);
    this.#calls = callsOf(settings.protocol);
    this.#registry = registry;
    this.#clock = clock;
  }

  /** Connects and identifies the server. Resolves with why it cannot vote, or null. */
  async identify(): Promise<Failed | null> {
    const connection = this.#usable() ?? (await this.#connected());
    return isFailed(connection) ? connection : this.#objectionTo(await connection.identity);
  }

  /** What the server has said about itself; null: nothing yet. */
  get identity(): ServerIdentity | Failed | null {
    return this.#connection?.identified ?? null;
  }

  /** Why the server must not be in the list of masters, as far as is known; null: it may be. */
  get rejection(): Failed | null {
    const objection = this.identity && this.#objectionTo(this.identity);
    return objection?.cause === 'unfit' ? objection : (this.#connection?.rejection ?? null);
  }

  acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply> {
    const { value, isFenced } = claim;
    const asked = Symbol('acquire');
    this.#mayHold.set(value, asked);
    if (claim.waiter) {
      this.#queued.set(claim.waiter.id, claim);
      this.#subscriber.resubscribe();
    }
    const { prefix, historyBytes } = this.#settings;
    const call = this.#calls.toAcquire(claim, prefix, historyBytes);
    const read = (reply: unknown, connection: Connection) => {
      const { wallMs = Date.now } = this.#settings;
      const vote = acquisitionOf(reply, isFenced ? wallMs() : null);
      if (vote.kind === 'granted') return this.#unlessInDoubt(connection, vote);
      if (vote.kind === 'refused' && this.#mayHold.get(value) === asked)
        this.#mayHold.delete(value);
      return vote;
    };
    return this.#ask<AcquireReply>(withdrawn, (connection) => connection.run(call), read, claim);
  }

  extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply> {
    this.#subscriber.resubscribe();
    const call = this.#calls.toExtend(claim, fence, this.#settings.prefix);
    return this.#ask(withdrawn, (connection) => connection.run(call), extensionOf);
  }

  repair(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<RepairReply> {
    this.#mayHold.set(claim.value, Symbol('repair'));
    const call = this.#calls.toRepair(claim, fence, this.#settings.prefix);
    return this.#ask(withdrawn, (connection) => connection.run(call), repairOf, claim);
  }

  release(claim: Claim, keepMs: number, record: string | null = null): Promise<ReleaseReply> {
    return this.#remove({ claim, keepMs, record, keepsPosition: false });
  }

  rollback(claim: Claim): Promise<ReleaseReply> {
    return this.#remove({ claim, keepMs: 0, record: null, keepsPosition: true });
  }

  /** Releases a value that no key has, because this master may have been repaired by now. */
  dequeue(claim: Claim): Promise<ReleaseReply> {
    const value = `not ${claim.value}`;
    return this.#remove({
      claim: { ...claim, value },
      keepMs: 0,
      record: null,
      keepsPosition: false,
    });
  }

  subscribe(claim: Claim, onWakeUp: (message: string) => void): Promise<Subscription | Failed> {
    return this.#subscriber.subscribe(channelNamesOf(claim, this.#settings.prefix), onWakeUp);
  }

  close(): void {
    this.#subscriber.close();
    this.#connection?.close();
    for (const connection of this.#retired.values()) connection.close();
    this.#dialing?.then((connection) => isFailed(connection) || connection.close());
  }

  /** Notes that the request which may have set the value was answered. */
  #settle(connection: Connection, claim: Claim): void {
    if (connection === this.#connection) this.#unanswered.delete(claim.value);
    if (connection === this.#retired.get(claim.value)) this.#dismiss(claim);
  }

  async #remove(undoing: Undoing): Promise<ReleaseReply> {
    const { claim, keepsPosition } = undoing;
    const id = claim.waiter?.id ?? '';
    const queued = this.#queued.get(id);
    if (!this.#mayHold.has(claim.value) && (keepsPosition || !queued)) return { kind: 'missing' };
    this.#giveUpIfSilent();
    const retired = this.#retired.get(claim.value);
    if (retired) void this.#release(retired, withoutWaiter(undoing));
    this.#dismiss(claim);
    let wasSent = false;
    const send = (connection: Connection) => {
      wasSent = true;
      this.#unanswered.delete(claim.value);
      this.#unconfirmed.set(claim.value, undoing);
      return this.#release(connection, undoing);
    };
    let reply = await this.#ask(always, send, removalOf);
    if (isFailed(reply) && reply.cause === 'connection' && wasSent) {
      // The connection had broken before, unnoticed: routers forget idle connections. Try once more
      // on a new one.
      this.#unconfirmed.delete(claim.value);
      reply = await this.#ask(always, send, repeatedRemovalOf);
    }
    if (isFailed(reply)) this.#unconfirmed.set(claim.value, undoing);
    else this.#forget(claim);
    // A later claim under the same id has entered the queue again, and will have to leave it.
    if (!isFailed(reply) && !keepsPosition && this.#queued.get(id) === queued)
      this.#queued.delete(id);
    return reply;
  }

  /** Closes the connection that was kept for this claim, unless it is kept for another one too. */
  #dismiss({ value }: Claim): void {
    const retired = this.#retired.get(value);
    this.#retired.delete(value);
    if (retired && ![...this.#retired.values()].includes(retired)) retired.close();
  }

  #forget({ value }: Claim): void {
    this.#mayHold.delete(value);
    this.#unconfirmed.delete(value);
  }

  /**
   * Repeats the unconfirmed releases of a broken connection on the next one, before anything else.
   */
  #catchUp(connection: Connection): void {
    for (const undoing of this.#unconfirmed.values()) {
      const reply = this.#release(connection, withoutWaiter(undoing));
      reply.then((code) => isFailed(removalOf(code)) || this.#forget(undoing.claim));
    }
  }

  async #release(connection: Connection, undoing: Undoing): Promise<unknown> {
    const { prefix, historyBytes } = this.#settings;
    const run = (one: Undoing) => connection.run(this.#calls.toRelease(one, prefix, historyBytes));
    const reply = await run(undoing);
    // A user without a right to the history can release all the same.
    const isDenied = isFailed(reply) && reply.cause === 'denied' && undoing.record !== null;
    return isDenied ? run({ ...undoing, record: null }) : reply;
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
    if (set) this.#unanswered.add(set.value);
    const reply = await send(connection);
    if (set) this.#settle(connection, set);
    if (!isFailed(reply)) this.#patienceMs = patienceMs.least;
    const objection = this.#objectionTo(connection.identified ?? (await connection.identity));
    if (objection) return objection;
    return isFailed(reply) ? reply : read(reply, connection);
  }

  #usable(): Connection | null {
    this.#giveUpIfSilent();
    return this.#connection?.isOpen ? this.#connection : null;
  }

  /** Gives up a connection that owes an answer for too long; keeps it for the releases on it. */
  #giveUpIfSilent(): void {
    const connection = this.#connection;
    if (!connection?.isOpen || connection.silentMs <= this.#patienceMs) return;
    for (const value of this.#unanswered) this.#retired.set(value, connection);
    if (this.#unanswered.size === 0) connection.close();
    this.#unanswered.clear();
    this.#connection = null;
    this.#patienceMs = Math.min(this.#patienceMs * 2, patienceMs.most);
  }

  #connected(): Promise<Connection | Failed> {
    this.#dialing ??= Connection.dial(this.#origin, this.#clock, mostReplyBytes).then(
      (connection) => {
        this.#dialing = null;
        this.#connection = isFailed(connection) ? null : connection;
        this.#unanswered.clear();
        if (isFailed(connection)) return connection;
        this.#catchUp(connection);
        return connection;
      },
    );
    return this.#dialing;
  }

  #unlessInDoubt(connection: Connection, vote: Granted): Granted | Promise<Granted | Failed> {
    const changedAt = this.#registry.changedAt(this.name);
    const doubtful = { connection, changedAt, clock: this.#clock, isRecording: true };
    const graceFailure = graceFailureOf(doubtful, this.#settings);
    return graceFailure === null ? vote : graceFailure.then((failure) => failure ?? vote);
  }

  #objectionTo(identity: ServerIdentity | Failed): Failed | null {
    return isFailed(identity) ? identity : this.#registry.admit(this.name, identity);
  }
}
