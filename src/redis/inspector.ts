// Looks at the locks of one Redis server without taking one: snapshots, names, histories; also
// removes or replaces one value. It rejects the servers that a lock would reject (a replica, one
// listed twice, one that has just restarted). A reply of an unexpected shape is a failure of the
// master. Values and names are exact to the byte, even if they are no UTF-8.

import type { Clock } from '../lock/ports.ts';
import type { Failed, ReleaseReply, Sharing } from '../lock/types.ts';
import type { MasterAddress } from './address.ts';
import { Connection } from './connection.ts';
import type { ServerRegistry } from './identity.ts';
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
import { as, listOf, readReply, type Shape, tuple } from './reply-shapes.ts';
import { doubtAbout } from './restart.ts';
import type { Calls, ScriptCall } from './script-calls.ts';
import { scripts } from './scripts.ts';
import {
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
import { isFailed } from './trouble.ts';

export class LockObserver {
  readonly name: string;
  readonly address: MasterAddress;
  readonly #settings: RedisMasterSettings;
  readonly #calls: Calls;
  readonly #registry: ServerRegistry;
  readonly #clock: Clock;
  #dialled: Promise<Connection | Failed> | null = null;

  constructor(
    address: MasterAddress,
    settings: RedisMasterSettings,
    registry: ServerRegistry,
    clock: Clock,
  ) {
    this.name = address.name;
    this.address = address;
    this.#settings = settings;
    this.#calls = callsOf(settings.protocol);
    this.#registry = registry;
    this.#clock = clock;
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
  async doubt(): Promise<Failed | null> {
    const connection = await this.connected();
    if (isFailed(connection)) return connection;
    // No command has been sent yet, so the identity may be unknown.
    await connection.identity;
    const changedAt = this.#registry.changedAt(this.name);
    const doubtful = { connection, changedAt, clock: this.#clock, isNoting: false };
    return doubtAbout(doubtful, this.#settings);
  }

  /**
   * Some of the names that match a glob, as SCAN returns them: perhaps none, perhaps some twice.
   * Begin with cursor '0'.
   */
  page(cursor: string, pattern: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    return this.#scan(cursor, patternOf(prefix, pattern), count, (key) => resourceOf(prefix, key));
  }

  /** As `page`, for the resources that have a history. */
  historyPage(cursor: string, count: number): Promise<Page | Failed> {
    const { prefix } = this.#settings;
    return this.#scan(cursor, historiesOf(prefix), count, (key) => historyResourceOf(prefix, key));
  }

  /** The newest lines of the history of each of these. */
  history(resources: readonly string[], mostLines: number): Promise<SeenHistories | Failed> {
    const keys = resources.map((resource) => historyKeyOf(this.#settings.prefix, resource));
    return this.#run(
      { script: scripts.history, keys, words: [mostLines] },
      historiesOfAtMost(resources.length),
    );
  }

  /**
   * Removes a holder that has exactly this value, and wakes the first waiter, as its release would.
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
    const undoing = { claim, keepMs: 0, record: null, keepsPosition: false };
    return this.#remove(this.#calls.toRelease(undoing, this.#settings.prefix));
  }

  /** Wakes the subscriber with this id. It is a hint: there may be none. */
  call(resource: string, id: string): Promise<unknown | Failed> {
    return this.#ask((connection) =>
      connection.call('PUBLISH', channelsOf(this.#settings.prefix, resource) + id, ''),
    );
  }

  /** Replaces the value by another one, which keeps others out for the time that was left. */
  replace(resource: string, value: string, by: string): Promise<ReleaseReply> {
    return this.#remove(this.#calls.toReplace(resource, value, by, this.#settings.prefix));
  }

  /** The connection; a new one after an error. */
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
    if (isFailed(identity)) return identity;
    return this.#registry.admit(this.name, identity) ?? reply;
  }
}

function sent(
  { script, keys, words }: ScriptCall,
  connection: Connection,
): Promise<unknown | Failed> {
  return connection.exactly('EVAL', script, keys.length, ...keys, ...words);
}
