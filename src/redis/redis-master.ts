// One Redis server as a Master. It dials when it is first called and again after trouble, asks each new server who it is,
// and turns replies into votes. It keeps no time-outs: those belong to poll.ts. The surprise: commands keep their order
// only on one connection, so before one is given up, every acquire that it has not answered gets its release behind it.

import type {
  AcquireReply,
  Claim,
  Clock,
  ExtendReply,
  Failed,
  HealReply,
  Master,
  ReleaseReply,
} from '../lock/ports.ts';
import type { MasterAddress } from './address.ts';
import { Connection } from './connection.ts';
import type { Roster } from './identity.ts';
import { acquireScript, extendScript, healScript, releaseScript } from './scripts.ts';
import { failed, isFailed } from './trouble.ts';

export interface RedisMasterSettings {
  readonly prefix: string;
  /** How long after a restart that may have lost keys a server's grants do not count; 0: they always do. */
  readonly restartGraceMs: number;
}

/** How long a connection may owe an answer before it is given up; doubled each time, back to the first by an answer. */
const patienceMs = { least: 1_000, most: 30_000 };
/** Counters are kept so long after their last use; a new one starts above them, so this bounds memory and nothing else. */
const counterKeptMs = 24 * 60 * 60 * 1000;

export class RedisMaster implements Master {
  readonly name: string;
  readonly #address: MasterAddress;
  readonly #settings: RedisMasterSettings;
  readonly #roster: Roster;
  readonly #clock: Clock;
  #connection: Connection | null = null;
  #dialing: Promise<Connection | Failed> | null = null;
  #patienceMs = patienceMs.least;
  /** Values that an acquire was sent for and no release has removed: there is nothing else to release. */
  readonly #mayHold = new Set<string>();
  /** Claims that the present connection was sent a SET for and has not answered. */
  readonly #unanswered = new Set<Claim>();

  constructor(address: MasterAddress, settings: RedisMasterSettings, roster: Roster, clock: Clock) {
    this.name = address.name;
    this.#address = address;
    this.#settings = settings;
    this.#roster = roster;
    this.#clock = clock;
  }

  /** Connects and learns who the server is, ahead of the first call. Returns why it cannot vote, or null. */
  async introduce(): Promise<Failed | null> {
    const connection = this.#usable() ?? (await this.#connected());
    return isFailed(connection) ? connection : this.#objectionTo(connection);
  }

  async acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply> {
    const { value, ttlMs, isFenced } = claim;
    let voter: Connection | null = null;
    const reply = await this.#ask(withdrawn, (connection) => {
      voter = connection;
      return this.#set(connection, claim, acquireScript, value, ttlMs, isFenced ? counterKeptMs + ttlMs : 0);
    });
    if (isFailed(reply)) return reply;
    const [granted, ...rest] = reply as [number, ...unknown[]];
    if (granted === 1) {
      return (await this.#doubtAbout(voter)) ?? { kind: 'granted', fence: isFenced ? Number(rest[0]) : null };
    }
    const [holder, remainingMs] = rest as [string, number];
    return { kind: 'refused', holder, remainingMs: remainingMs < 0 ? null : remainingMs };
  }

  async extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply> {
    const reply = await this.#ask(withdrawn, (connection) =>
      connection.eval(extendScript, this.#keysOf(claim), ...wordsOf(claim, fence)),
    );
    if (isFailed(reply)) return reply;
    const [code, seconds = 0, microseconds = 0] = reply as number[];
    if (code === 1) return { kind: 'extended', masterTimeMs: seconds * 1000 + microseconds / 1000 };
    return { kind: code === 0 ? 'taken' : 'gone' };
  }

  async heal(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<HealReply> {
    const reply = await this.#ask(withdrawn, (connection) =>
      this.#set(connection, claim, healScript, ...wordsOf(claim, fence)),
    );
    return isFailed(reply) ? reply : { kind: reply === 1 ? 'healed' : 'taken' };
  }

  async release(claim: Claim, keepMs: number, withdrawn: AbortSignal): Promise<ReleaseReply> {
    if (!this.#mayHold.has(claim.value)) return { kind: 'gone' };
    const reply = await this.#ask(withdrawn, (connection) => {
      this.#unanswered.delete(claim);
      return connection.eval(releaseScript, this.#keysOf(claim), claim.value, keepMs);
    });
    if (isFailed(reply)) return reply;
    this.#mayHold.delete(claim.value);
    return { kind: reply === 1 ? 'released' : reply === 0 ? 'taken' : 'gone' };
  }

  close(): void {
    this.#connection?.close();
    this.#dialing?.then((connection) => isFailed(connection) || connection.close());
  }

  /** The key, and the counter of its fence in the same cluster slot. */
  #keysOf({ resource }: Claim): string[] {
    const key = this.#settings.prefix + resource;
    return [key, `{${key}}:fence`];
  }

  async #set(connection: Connection, claim: Claim, script: string, ...words: (string | number)[]): Promise<unknown> {
    this.#mayHold.add(claim.value);
    this.#unanswered.add(claim);
    const reply = await connection.eval(script, this.#keysOf(claim), ...words);
    if (connection === this.#connection) this.#unanswered.delete(claim);
    return reply;
  }

  async #ask(withdrawn: AbortSignal, send: (connection: Connection) => Promise<unknown>): Promise<unknown | Failed> {
    const connection = this.#usable() ?? (await this.#connected());
    if (isFailed(connection)) return connection;
    if (withdrawn.aborted) return failed('connection', 'no connection in time');
    const reply = await send(connection);
    if (!isFailed(reply)) this.#patienceMs = patienceMs.least;
    return (await this.#objectionTo(connection)) ?? reply;
  }

  #usable(): Connection | null {
    const connection = this.#connection;
    if (connection?.isOpen !== true) return null;
    if (connection.silentMs <= this.#patienceMs) return connection;
    for (const claim of this.#unanswered) void connection.eval(releaseScript, this.#keysOf(claim), claim.value, 0);
    connection.close();
    this.#patienceMs = Math.min(this.#patienceMs * 2, patienceMs.most);
    return null;
  }

  #connected(): Promise<Connection | Failed> {
    this.#dialing ??= Connection.dial(this.#address, this.#clock).then((connection) => {
      this.#dialing = null;
      this.#connection = isFailed(connection) ? null : connection;
      this.#unanswered.clear();
      return connection;
    });
    return this.#dialing;
  }

  async #objectionTo(connection: Connection): Promise<Failed | null> {
    const identity = await connection.identity;
    if (isFailed(identity)) return identity;
    const objection = this.#roster.admit(this.name, identity);
    return objection === null ? null : failed('unfit', objection);
  }

  /** The delayed restart of the distlock page, done from our side: a server that may have forgotten a lock must wait. */
  async #doubtAbout(connection: Connection | null): Promise<Failed | null> {
    const { restartGraceMs } = this.#settings;
    if (restartGraceMs === 0 || connection === null) return null;
    const identity = await connection.identity;
    if (isFailed(identity) || identity.startedAt === null) return null;
    const agoMs = this.#clock.now() - identity.startedAt;
    if (agoMs >= restartGraceMs || (await connection.survivesRestart())) return null;
    const [ago, left] = [agoMs, restartGraceMs - agoMs].map((ms) => Math.ceil(ms / 1000));
    const reason = 'may have forgotten a lock that is still held';
    return failed('restarted', `restarted ${ago} s ago and ${reason}: counts again in ${left} s`);
  }
}

/** What extend and heal are told. */
function wordsOf({ value, ttlMs }: Claim, fence: number | null): (string | number)[] {
  return [value, ttlMs, fence === null ? 0 : counterKeptMs + ttlMs, fence ?? 0];
}
