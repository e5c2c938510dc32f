// One Redis server as somebody sees it who takes no lock: what stands under the names, which names there are, and the removal of
// one value or its replacement; it writes nothing else. The surprise: it says of a server what a lock would say (a replica, one listed
// twice, one that has just restarted), because who asks why a job waits must be told of the same masters that the job sees.

import type { Clock, Failed, ReleaseReply, Sharing } from '../lock/ports.ts';
import { parseMember } from '../lock/sharing.ts';
import type { MasterAddress } from './address.ts';
import { Connection } from './connection.ts';
import type { Roster } from './identity.ts';
import { historyScript } from './inspection-scripts.ts';
import { channelsOf, historiesOf, historyKeyOf, historyResourceOf, patternOf, resourceOf } from './keys.ts';
import { callsOf } from './protocol.ts';
import type { RedisMasterSettings } from './redis-master.ts';
import { removalOf } from './replies.ts';
import { doubtAbout } from './restart.ts';
import type { Calls, ScriptCall } from './script-calls.ts';
import { failed, isFailed } from './trouble.ts';

export interface SeenWaiter {
  readonly id: string;
  readonly waitedMs: number;
}

/** One of those who hold a lock together. */
export interface SeenHolder {
  /** 0: he needs none. */
  readonly slot: number;
  readonly value: string;
  readonly remainingMs: number;
}

/** What one master shows of one lock. */
export interface Sight {
  /** null: nothing. A type other than string is no lock of ours; its content is not looked at. */
  readonly type: string | null;
  /** Of a string. */
  readonly value: string | null;
  /** null: it never expires by itself. */
  readonly remainingMs: number | null;
  /** The counter of the fence; null: none. */
  readonly fence: number | null;
  /** The living, first in line first. */
  readonly queue: readonly SeenWaiter[];
  /** Of a lock that several may hold, whose value is only a mark. */
  readonly holders: readonly SeenHolder[];
}

/** One line of a history, as it was written. */
export interface SeenLine {
  /** When this master took it, by its own time of day. */
  readonly takenAtMs: number;
  readonly line: string;
}

export interface Page {
  /** '0': this was the last one. */
  readonly cursor: string;
  readonly resources: readonly string[];
}

export class Inspector {
  readonly name: string;
  readonly address: MasterAddress;
  readonly #settings: RedisMasterSettings;
  readonly #calls: Calls;
  readonly #roster: Roster;
  readonly #clock: Clock;
  #dialled: Promise<Connection | Failed> | null = null;

  constructor(address: MasterAddress, settings: RedisMasterSettings, roster: Roster, clock: Clock) {
    this.name = address.name;
    this.address = address;
    this.#settings = settings;
    this.#calls = callsOf(settings.protocol);
    this.#roster = roster;
    this.#clock = clock;
  }

  /** What the server shows of each of these, in their order. */
  async look(resources: readonly string[]): Promise<readonly Sight[] | Failed> {
    const reply = await this.#call(this.#calls.toLook(resources, this.#settings.prefix));
    return isFailed(reply) ? reply : (reply as RawSight[]).map(sightOf);
  }

  /** Why free keys on this server are no votes yet: it restarted, and may have forgotten locks. null: they are. */
  async doubt(): Promise<Failed | null> {
    const connection = await this.connected();
    if (isFailed(connection)) return connection;
    // Nothing has been asked yet that would have had it known by now.
    await connection.identity;
    return doubtAbout(connection, this.#settings.restartGraceMs, this.#clock);
  }

  /** Some of the names that match a glob, as SCAN gives them: perhaps none, perhaps some twice. Begin with cursor '0'. */
  async page(cursor: string, pattern: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    const reply = await this.#ask((connection) =>
      connection.call('SCAN', cursor, 'MATCH', patternOf(prefix, pattern), 'COUNT', count),
    );
    if (isFailed(reply)) return reply;
    const [next, keys] = reply as [string, string[]];
    return { cursor: next, resources: keys.flatMap((key) => resourceOf(prefix, key) ?? []) };
  }

  /** The newest lines about the runs of each of these, in their order; newest first. */
  async history(resources: readonly string[], mostLines: number): Promise<readonly (readonly SeenLine[])[] | Failed> {
    const keys = resources.map((resource) => historyKeyOf(this.#settings.prefix, resource));
    const reply = await this.#ask((connection) => connection.eval(historyScript, keys, mostLines));
    return isFailed(reply) ? reply : (reply as RawLine[][]).map((lines) => lines.map(seenLineOf));
  }

  /** As page, of the resources that have a history. */
  async historyPage(cursor: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    const reply = await this.#ask((connection) =>
      connection.call('SCAN', cursor, 'MATCH', historiesOf(prefix), 'COUNT', count),
    );
    if (isFailed(reply)) return reply;
    const [next, keys] = reply as [string, string[]];
    return { cursor: next, resources: keys.flatMap((key) => historyResourceOf(prefix, key) ?? []) };
  }

  /** Removes a holder where he stands with exactly this value, and calls the first in line, as he himself would. */
  async remove(resource: string, value: string, sharing: Sharing = { kind: 'exclusive' }): Promise<ReleaseReply> {
    const claim = {
      resources: [resource],
      value,
      sharing,
      ttlMs: 0,
      isFenced: false,
      yields: 'never',
      waiter: null,
    } as const;
    const undoing = { claim, keepMs: 0, record: null, staysInLine: false };
    const reply = await this.#call(this.#calls.toRelease(undoing, this.#settings.prefix));
    return isFailed(reply) ? reply : removalOf(reply);
  }

  /** Calls whoever listens under this id for news of the resource. It is a hint: nobody may be there. */
  call(resource: string, id: string): Promise<unknown | Failed> {
    return this.#ask((connection) => connection.call('PUBLISH', channelsOf(this.#settings.prefix, resource) + id, ''));
  }

  /** The same, but the key stays in the way of others, under another value, for as long as it would have lasted. */
  async replace(resource: string, value: string, by: string): Promise<ReleaseReply> {
    const reply = await this.#call(this.#calls.toReplace(resource, value, by, this.#settings.prefix));
    return isFailed(reply) ? reply : removalOf(reply);
  }

  /** The connection, dialled anew after trouble. */
  async connected(): Promise<Connection | Failed> {
    this.#dialled ??= Connection.dial(this.address, this.#clock);
    const dialled = this.#dialled;
    const connection = await dialled;
    if (!isFailed(connection) && connection.isOpen) return connection;
    if (this.#dialled === dialled) this.#dialled = null;
    return isFailed(connection) ? connection : this.connected();
  }

  close(): void {
    void this.#dialled?.then((connection) => isFailed(connection) || connection.close());
  }

  #call({ script, keys, words }: ScriptCall): Promise<unknown | Failed> {
    return this.#ask((connection) => connection.eval(script, keys, ...words));
  }

  async #ask(send: (connection: Connection) => Promise<unknown>): Promise<unknown | Failed> {
    const connection = await this.connected();
    if (isFailed(connection)) return connection;
    const reply = await send(connection);
    const identity = await connection.identity;
    if (isFailed(identity)) return identity;
    const objection = this.#roster.admit(this.name, identity);
    return objection === null ? reply : failed('unfit', objection);
  }
}

type RawLine = [id: string, fields: string[]];

function seenLineOf([id, fields]: RawLine): SeenLine {
  return { takenAtMs: Number(id.split('-')[0]), line: fields[fields.indexOf('run') + 1] ?? '' };
}

type RawSight = [
  type: string,
  value: string | null,
  ttl: number,
  counter: string | null,
  queue: (string | number)[],
  holders: (string | number)[],
];

function sightOf([type, value, ttl, counter, queue, members]: RawSight): Sight {
  const waiters: SeenWaiter[] = [];
  for (let at = 0; at < queue.length; at += 2) waiters.push({ id: String(queue[at]), waitedMs: Number(queue[at + 1]) });
  const holders: SeenHolder[] = [];
  for (let at = 0; at < members.length; at += 2) {
    const member = parseMember(String(members[at]));
    if (member) holders.push({ ...member, remainingMs: Number(members[at + 1]) });
  }
  return {
    type: type === 'none' ? null : type,
    value,
    remainingMs: ttl < 0 ? null : ttl,
    fence: counter === null ? null : Number(counter),
    queue: waiters,
    holders,
  };
}
