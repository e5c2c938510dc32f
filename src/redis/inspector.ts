// One Redis server, looked at without taking a lock: what stands under the names, which names there
// are, and the removal of one value or its replacement. It says of a server what a lock would say
// (a replica, one listed twice, one that has just restarted). Every reply is read by its shape;
// another one is a failure of this master. Values and names are exact to the byte, also where they
// are no UTF-8.

import type { Clock } from '../lock/ports.ts';
import type { Failed, ReleaseReply, Sharing } from '../lock/types.ts';
import { parseMember } from '../lock/value.ts';
import { bytesOf } from '../text/bytes.ts';
import type { MasterAddress } from './address.ts';
import { Connection } from './connection.ts';
import type { Roster } from './identity.ts';
import {
  channelsOf,
  historiesOf,
  historyKeyOf,
  historyResourceOf,
  patternOf,
  resourceOf,
} from './keys.ts';
import { callsOf } from './protocol.ts';
import type { RedisMasterSettings } from './redis-master.ts';
import { removalOf } from './replies.ts';
import {
  as,
  decimal,
  integer,
  listOf,
  oneOf,
  orNull,
  readReply,
  type Shape,
  text,
  tuple,
} from './reply-shapes.ts';
import { doubtAbout } from './restart.ts';
import type { Calls, ScriptCall } from './script-calls.ts';
import { scripts } from './scripts.ts';
import { failed, isFailed } from './trouble.ts';

/** Of a value or a line: the scripts cut longer values, and leave out longer lines. */
const mostValueBytes = 4_096;

export interface SeenWaiter {
  readonly id: string;
  readonly waitedMs: number;
}

/** One of several that hold a lock together. */
export interface SeenHolder {
  /** 0: it needs none. */
  readonly slot: number;
  readonly value: string;
  readonly remainingMs: number;
}

/** What one master shows of one lock. */
export interface Sight {
  /** null: nothing. A type other than string is no lock of ours; its content is not looked at. */
  readonly type: string | null;
  /** Of a string; cut when it is longer than any value of ours: see isCut. */
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

export interface SeenHistories {
  /** Of the first of those that were asked for, in their order; newest line first. */
  readonly histories: readonly (readonly SeenLine[])[];
  /** False: the last of these histories has older lines, and those behind it were not read. */
  readonly isWhole: boolean;
}

/** Whether only the beginning of a value is known, so that it cannot be compared. */
export function isCut(value: string): boolean {
  return Buffer.byteLength(bytesOf(value)) > mostValueBytes;
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
  look(resources: readonly string[]): Promise<readonly Sight[] | Failed> {
    const sights = as(tuple(...resources.map(() => sight)), (all) => all);
    return this.#run(this.#calls.toLook(resources, this.#settings.prefix), sights);
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
  page(cursor: string, pattern: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    return this.#scan(cursor, patternOf(prefix, pattern), count, (key) => resourceOf(prefix, key));
  }

  /** As page, of the resources that have a history. */
  historyPage(cursor: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    return this.#scan(cursor, historiesOf(prefix), count, (key) => historyResourceOf(prefix, key));
  }

  /** The newest lines about the runs of each of these. */
  history(resources: readonly string[], mostLines: number): Promise<SeenHistories | Failed> {
    const keys = resources.map((resource) => historyKeyOf(this.#settings.prefix, resource));
    return this.#run(
      { script: scripts.history, keys, words: [mostLines] },
      historiesOfAtMost(resources.length),
    );
  }

  /**
   * Removes a holder where it stands with exactly this value, and calls the first in line, as the
   * holder would.
   */
  remove(
    resource: string,
    value: string,
    sharing: Sharing = { kind: 'exclusive' },
  ): Promise<ReleaseReply> {
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
    return this.#remove(this.#calls.toRelease(undoing, this.#settings.prefix));
  }

  /** Wakes the subscriber with this id. It is a hint: there may be none. */
  call(resource: string, id: string): Promise<unknown | Failed> {
    return this.#ask((connection) =>
      connection.call('PUBLISH', channelsOf(this.#settings.prefix, resource) + id, ''),
    );
  }

  /**
   * As remove, but the key stays in the way of others, under another value, for as long as it would
   * have lasted.
   */
  replace(resource: string, value: string, by: string): Promise<ReleaseReply> {
    return this.#remove(this.#calls.toReplace(resource, value, by, this.#settings.prefix));
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

  #run<Answer>(call: ScriptCall, shape: Shape<Answer>): Promise<Answer | Failed> {
    return this.#read(shape, (connection) => sent(call, connection));
  }

  async #remove(call: ScriptCall): Promise<ReleaseReply> {
    const reply = await this.#ask((connection) => sent(call, connection));
    return isFailed(reply) ? reply : removalOf(reply);
  }

  /** `nameOf`: the resource that a key is about, or null. */
  #scan(
    cursor: string,
    pattern: string,
    count: number,
    nameOf: (key: string) => string | null,
  ): Promise<Page | Failed> {
    const page = as(tuple(cursorShape, listOf(keyShape, mostKeys)), ([next, keys]): Page => {
      const resources = keys
        .filter((key) => key.length <= longestKeyChars)
        .flatMap((key) => nameOf(key) ?? []);
      return { cursor: next, resources };
    });
    return this.#read(page, (connection) =>
      connection.exactly('SCAN', cursor, 'MATCH', pattern, 'COUNT', count),
    );
  }

  async #read<Answer>(
    shape: Shape<Answer>,
    send: (connection: Connection) => Promise<unknown>,
  ): Promise<Answer | Failed> {
    const reply = await this.#ask(send);
    return isFailed(reply) ? reply : readReply(shape, reply);
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

function sent(
  { script, keys, words }: ScriptCall,
  connection: Connection,
): Promise<unknown | Failed> {
  return connection.exactly('EVAL', script, keys.length, ...keys, ...words);
}

/** Of one reply. */
const mostKeys = 100_000;
/** Longer ones lock nothing: a name has 4,096 bytes at most. */
const longestKeyChars = 8_192;
const keyShape = text(Number.POSITIVE_INFINITY);
/** Cursors are numbers of 64 bits. */
const cursorShape: Shape<string> = (reply) => {
  const cursor = text(20)(reply);
  return /^\d+$/.test(cursor) ? cursor : oneOf('a cursor')(reply);
};

/** When the master took a line, as the id of its entry in the stream. */
const entryTime = (reply: unknown): number => {
  const [ms, count] = text(41)(reply).split('-');
  decimal()(count);
  return decimal(0, 8.64e15)(ms);
};
const seenLines = pairs(
  entryTime,
  text(mostValueBytes),
  (takenAtMs, line): SeenLine => ({ takenAtMs, line }),
);

function historiesOfAtMost(most: number): Shape<SeenHistories> {
  const histories = listOf(seenLines, most);
  return (reply) => {
    const [isWhole, ...lists] = listOf((item) => item, most + 1)(reply);
    return { isWhole: oneOf(0, 1)(isWhole) === 1, histories: histories(lists) };
  };
}

const value = text(mostValueBytes + 1);
const queue = pairs(text(200), integer(0), (id, waitedMs): SeenWaiter => ({ id, waitedMs }));
const members = pairs(text(mostValueBytes + 1), integer(0), (member, remainingMs) => {
  const parsed = parseMember(member);
  return parsed && { ...parsed, remainingMs };
});

const sight = as(
  tuple(text(80), orNull(value), integer(-2), orNull(text(30)), queue, members),
  ([type, value, ttl, counter, waiters, holders]): Sight => ({
    type: type === 'none' ? null : type,
    value,
    remainingMs: ttl < 0 ? null : ttl,
    fence: counter === null ? null : counterOf(counter),
    queue: waiters,
    holders: holders.filter((one) => one !== null),
  }),
);

/** null for what no lock has counted. */
function counterOf(text: string): number | null {
  const counter = readReply(decimal(), text);
  return isFailed(counter) ? null : counter;
}

/** A flat list of what belongs together two by two. */
function pairs<First, Second, Value>(
  first: Shape<First>,
  second: Shape<Second>,
  make: (first: First, second: Second) => Value,
): Shape<readonly Value[]> {
  return (reply) => {
    const items = listOf((item) => item, Number.POSITIVE_INFINITY)(reply);
    const values: Value[] = [];
    for (let at = 0; at < items.length; at += 2)
      values.push(make(...tuple(first, second)(items.slice(at, at + 2))));
    return values;
  };
}
