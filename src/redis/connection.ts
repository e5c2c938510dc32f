// One connection to one server by ioredis, set up so that nothing is ever queued or sent twice. It ends at the first
// trouble; whoever wants another dials again. It knows no locks. The surprise: ioredis is given no password and no
// database. It would wait a round trip for each before it sends anything; AUTH goes out here in front of the first command.

import { Redis } from 'ioredis';
import type { Clock, Failed } from '../lock/ports.ts';
import type { MasterAddress } from './address.ts';
import { parseIdentity, type ServerIdentity } from './identity.ts';
import { failedBy } from './trouble.ts';

/** A silent host must not hold up a dial for longer than this; connections refused fail at once. */
const connectTimeoutMs = 2_000;

export class Connection {
  /** Who answers; known before the reply to the first command is. */
  readonly identity: Promise<ServerIdentity | Failed>;
  readonly #client: Redis;
  readonly #clock: Clock;
  readonly #unanswered = new Map<symbol, number>();

  private constructor(client: Redis, clock: Clock, access: Promise<Failed | null>) {
    this.#client = client;
    this.#clock = clock;
    this.identity = this.#introduce(access);
  }

  /** Connects and sends AUTH, INFO server and ROLE without waiting for their answers. */
  static async dial(address: MasterAddress, clock: Clock): Promise<Connection | Failed> {
    const client = new Redis({
      ...endpointOptions(address),
      lazyConnect: true,
      connectTimeout: connectTimeoutMs,
      retryStrategy: null,
      maxRetriesPerRequest: 0,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      enableReadyCheck: false,
      protocol: 2,
      disableClientInfo: true,
    });
    let cause: unknown = null;
    client.on('error', (error) => {
      cause = error;
    });
    try {
      await client.connect();
      const access = authenticate(client, address);
      // In another database our key would exclude nobody, so this answer is worth a round trip.
      if (address.db !== 0) await client.select(address.db);
      return new Connection(client, clock, access);
    } catch (error) {
      // One that never opened has ended already, and would only set a timer that keeps the program alive.
      if (client.status !== 'end') client.disconnect();
      return failedBy(cause ?? error);
    }
  }

  get isOpen(): boolean {
    return this.#client.status === 'ready';
  }

  /** For how long the oldest request has been waiting for its answer; 0 when none is. */
  get silentMs(): number {
    const [oldest] = this.#unanswered.values();
    return oldest === undefined ? 0 : this.#clock.now() - oldest;
  }

  /** Runs a script in one step on the server. Sent before this returns its promise, or never. */
  eval(script: string, keys: readonly string[], ...words: (string | number)[]): Promise<unknown | Failed> {
    return this.#send(() => this.#client.eval(script, keys.length, ...keys, ...words));
  }

  /** Ends the connection after everything sent so far has been handed to the kernel. */
  close(): void {
    this.#client.disconnect();
  }

  async #introduce(access: Promise<Failed | null>): Promise<ServerIdentity | Failed> {
    const [refused, info, role] = await Promise.all([
      access,
      this.#send(() => this.#client.info('server')),
      this.#send(() => this.#client.call('ROLE')),
    ]);
    if (refused) return refused;
    return parseIdentity(typeof info === 'string' ? info : null, role, this.#clock.now());
  }

  /** Whether the server writes every change to disk before it answers, so that a restart forgets nothing. */
  async survivesRestart(): Promise<boolean> {
    const [persistence, policy] = await Promise.all([
      this.#send(() => this.#client.info('persistence')),
      this.#send(() => this.#client.call('CONFIG', 'GET', 'appendfsync')),
    ]);
    return /^aof_enabled:1/m.test(String(persistence)) && Array.isArray(policy) && policy[1] === 'always';
  }

  async #send(command: () => Promise<unknown>): Promise<unknown | Failed> {
    const request = Symbol();
    this.#unanswered.set(request, this.#clock.now());
    try {
      return await command();
    } catch (error) {
      const failed = failedBy(error);
      if (failed.cause === 'connection') this.close();
      return failed;
    } finally {
      this.#unanswered.delete(request);
    }
  }
}

/** Resolves with why the server refused us, or null; a server that asks for no password at all is no trouble. */
async function authenticate(client: Redis, { username, password }: MasterAddress): Promise<Failed | null> {
  if (password === undefined) return null;
  try {
    await client.call('AUTH', ...(username === undefined ? [password] : [username, password]));
    return null;
  } catch (error) {
    const refused = failedBy(error);
    return /no password is set|without any password configured/.test(refused.message) ? null : refused;
  }
}

function endpointOptions(address: MasterAddress): object {
  if (address.path !== undefined) return { path: address.path };
  return { host: address.host, port: address.port, ...(address.tls ? { tls: address.tls } : {}) };
}
