// One Redis server, seen without taking a lock on it: snapshots, names and histories of locks; and
// what people do there: freeze, thaw, exchange a value, publish a request. It rejects the servers
// that a lock would reject (a replica, one listed twice, one that has just restarted). A reply of
// an unexpected shape is a failure of the master. Values and names are exact to the byte, even if
// they are no UTF-8.

import type { Clock } from '../lock/ports.ts';
import type { Failed, ReleaseReply, Sharing } from '../lock/types.ts';
import { parseValue } from '../lock/value.ts';
import type { MasterAddress } from './address.ts';
import { callsOf } from './calls/protocol.ts';
import {
  type Calls,
  type ScriptCall,
  toAddLine,
  toFreeze,
  toReadHistories,
  toThaw,
} from './calls/script-calls.ts';
import { mostBytes } from './connection/client.ts';
import { Connection } from './connection/connection.ts';
import { isFailed } from './errors.ts';
import type { ServerRegistry } from './identity.ts';
import {
  channelsOf,
  freezeResourceOf,
  freezesOf,
  historyNamesOf,
  patternOf,
  resourceOf,
} from './keys.ts';
import type { RedisMasterSettings } from './redis-master.ts';
import {
  as,
  integer,
  listOf,
  mostToldBytes,
  oneOf,
  readReply,
  removalOf,
  type Shape,
  text,
  tuple,
} from './replies.ts';
import { markQuestionOf, restartFailureOf } from './restart.ts';
import {
  changedKeys,
  cursorShape,
  historiesOfAtMost,
  keyShape,
  type LockSnapshot,
  longestKeyChars,
  mostKeys,
  type Page,
  type SeenHistories,
  snapshotShape,
} from './snapshot.ts';

/** `taken`: another freeze stands there, of which `standing` is the beginning. */
export type FreezeReply =
  | { readonly kind: 'frozen' }
  | { readonly kind: 'taken'; readonly standing: string };

/** It compares no lists of masters: it takes no lock. */
export type ObserverSettings = Omit<RedisMasterSettings, 'ownList'>;

export class LockObserver {
  readonly name: string;
  readonly address: MasterAddress;
  readonly #settings: ObserverSettings;
  readonly #calls: Calls;
  readonly #registry: ServerRegistry;
  readonly #clock: Clock;
  #dialled: Promise<Connection | Failed> | null = null;
  #hasAnswered = false;

  constructor(
    address: MasterAddress,
    settings: ObserverSettings,
    registry: ServerRegistry,
    clock: Clock,
  ) {
    this.name = address.name;
    this.address = address;
    this.#settings = settings;
    this.#calls = callsOf(settings.protocol);
    this.#registry = registry;
    this.#clock = clock;
    registry.list(this.name);
  }

  /** Whether the server has ever answered. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** A snapshot of each of these, in their order. */
  look(resources: readonly string[]): Promise<readonly LockSnapshot[] | Failed> {
    const snapshots = as(tuple(...resources.map(() => snapshotShape)), (all) => all);
    return this.#run(this.#calls.toLook(resources, this.#settings.prefix), snapshots);
  }

  /**
   * Why free keys are no votes yet: the server restarted, and may have forgotten locks. null: they
   * are.
   */
  async restartFailure(): Promise<Failed | null> {
    const connection = await this.connected();
    if (isFailed(connection)) return connection;
    // No command has been sent yet, so the identity may be unknown.
    const identity = await connection.identity;
    if (isFailed(identity)) return this.#unidentified(connection, identity);
    this.#registry.admit(this.name, identity);
    const { name } = this;
    const registry = this.#registry;
    const checked = { connection, name, registry, clock: this.#clock, mayWrite: false };
    return restartFailureOf(checked, this.#settings);
  }

  /**
   * Some of the names that match a glob, as SCAN returns them: perhaps none, perhaps some twice.
   * Begin with cursor '0'.
   */
  page(cursor: string, pattern: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    return this.#scan(cursor, patternOf(prefix, pattern), count, (key) => resourceOf(prefix, key));
  }

  /**
   * As `page`, for the resources whose history has changed since `sinceMs`, in ms since 1970 on the
   * master's clock: those that changed last come first.
   */
  historyPage(cursor: string, count: number, sinceMs: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    const read = Number(cursor);
    const page = as(changedKeys, (members): Page => {
      const changed = members.filter(({ changedByMs }) => !(changedByMs <= sinceMs));
      const isLast = members.length < count || changed.length < members.length;
      return {
        cursor: isLast ? '0' : String(read + count),
        resources: changed.flatMap(({ key }) => resourceOf(prefix, key) ?? []),
      };
    });
    const [first, last] = [-count - read, -1 - read];
    return this.#read(page, (connection) =>
      connection.exactly('ZRANGE', historyNamesOf(prefix), first, last, 'WITHSCORES'),
    );
  }

  /** The history of each of these, with so many of its newest lines. */
  history(resources: readonly string[], mostLines: number): Promise<SeenHistories | Failed> {
    const call = toReadHistories(resources, mostLines, this.#settings.prefix);
    return this.#run(call, historiesOfAtMost(resources.length));
  }

  /**
   * Removes a holder that has exactly this value, and wakes the first waiter, as its release would.
   */
  remove(resource: string, value: string, sharing: Sharing): Promise<ReleaseReply> {
    const claim = {
      resources: [resource],
      token: parseValue(value).token,
      value,
      sharing,
      ttlMs: 0,
      isFenced: false,
      preemptible: 'never',
      waiter: null,
    } as const;
    const removal = { claim, keepMs: 0, line: null, keepsPosition: false };
    const { prefix, historyBytes } = this.#settings;
    return this.#remove(this.#calls.toRelease(removal, prefix, historyBytes));
  }

  /** As `page`, for the resources that are frozen. */
  freezePage(cursor: string, pattern: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    return this.#scan(cursor, freezesOf(prefix, pattern), count, (key) =>
      freezeResourceOf(prefix, key),
    );
  }

  /** Bars new holders for so many ms (0: until thawed), unless another freeze stands there. */
  freeze(resource: string, value: string, forMs: number): Promise<FreezeReply | Failed> {
    const read = as(
      tuple(oneOf(0, 1), text(mostToldBytes)),
      ([code, standing]): FreezeReply =>
        code === 1 ? { kind: 'frozen' } : { kind: 'taken', standing },
    );
    return this.#run(toFreeze(resource, value, forMs, this.#settings.prefix), read);
  }

  /** Removes exactly this freeze; `line` is for the history, '' for none. */
  thaw(resource: string, value: string, line: string): Promise<ReleaseReply> {
    const { prefix, historyBytes } = this.#settings;
    return this.#remove(toThaw(resource, value, line, prefix, historyBytes));
  }

  /** Publishes to the subscriber with this id; '' wakes it. Resolves with how many received it. */
  publish(resource: string, id: string, message: string): Promise<number | Failed> {
    const channel = channelsOf(this.#settings.prefix, resource) + id;
    return this.#read(integer(0), (connection) => connection.call('PUBLISH', channel, message));
  }

  /** Adds a line to the history. Resolves with whether the master has kept it. */
  addLine(resource: string, line: string): Promise<boolean | Failed> {
    const { prefix, historyBytes } = this.#settings;
    const isKept = as(oneOf(0, 1), (code) => code === 1);
    return this.#run(toAddLine(resource, line, prefix, historyBytes), isKept);
  }

  /** Puts another value in its place, which keeps others out for the time that was left. */
  exchange(resource: string, value: string, by: string): Promise<ReleaseReply> {
    return this.#remove(this.#calls.toExchange(resource, value, by, this.#settings.prefix));
  }

  /** The connection; a new one after an error. */
  async connected(): Promise<Connection | Failed> {
    this.#dialled ??= Connection.dial(this.address, this.#clock, {
      mostBytes: mostBytes.observer,
      mark: markQuestionOf(this.#settings, false),
      ownList: null,
    });
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

  /** `nameOf`: the resource of a key, or null. */
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
    if (isFailed(identity)) return this.#unidentified(connection, identity);
    this.#hasAnswered = true;
    const rejection = this.#registry.admit(this.name, identity);
    // It may be promoted again. What is listed wrongly stays so, and doctor goes on to examine it.
    if (rejection?.cause === 'reply') connection.giveUp();
    return rejection ?? reply;
  }

  /** The next look asks the server anew what it is. */
  #unidentified(connection: Connection, failure: Failed): Failed {
    connection.giveUp();
    return failure;
  }
}

function sent(
  { script, keys, args }: ScriptCall,
  connection: Connection,
): Promise<unknown | Failed> {
  return connection.exactly('EVAL', script, keys.length, ...keys, ...args);
}
