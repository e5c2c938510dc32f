// An ioredis client set up so that nothing is ever queued or sent twice: it connects once, and ends
// at the first trouble. Note: ioredis is given no password and no database. It would wait a round
// trip for each before it sends anything; here AUTH goes out in front of the first command. A
// client that a program lends us is never used: its twin is, set up like this.

import { Redis } from 'ioredis';
import type { Failed } from '../lock/ports.ts';
import type { MasterAddress } from './address.ts';
import { ReplyLimit } from './reply-limit.ts';
import { failed, failedBy } from './trouble.ts';

/** A silent host must not hold up a dial for longer than this; connections refused fail at once. */
const connectTimeoutMs = 2_000;

/** A client of somebody else's, of whatever version of ioredis. It keeps its host, its login, its TLS and its connector. */
export interface LentClient {
  /** For messages, as in a MasterAddress. */
  readonly name: string;
  readonly db: number;
  /** A new client with these options on top of its own. */
  readonly duplicate: (options: object) => Redis;
}

/** Where a connection is made to. */
export type Origin = MasterAddress | LentClient;

export interface OpenedClient {
  readonly client: Redis;
  /** Why the server refuses us, or null; unknown until its answer comes. */
  readonly access: Promise<Failed | null>;
  /** Whether it understands RESP3 once the server was told to speak that. */
  readonly canSpeak3: boolean;
  readonly limit: ReplyLimit;
}

/** Of one reply, by default: what a page of a thousand histories has at most. */
const mostBytesOfReply = 64 * 1024 * 1024;

const safe = {
  lazyConnect: true,
  connectTimeout: connectTimeoutMs,
  retryStrategy: null,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  enableReadyCheck: false,
  protocol: 2,
  disableClientInfo: true,
} as const;

/** What others may have set and a twin must not have: whatever holds commands back, changes them or reads replies differently. */
const plain = {
  db: 0,
  keyPrefix: '',
  monitor: false,
  autoResubscribe: false,
  reconnectOnError: null,
  commandTimeout: undefined,
  socketTimeout: undefined,
  enableAutoPipelining: false,
  stringNumbers: false,
  replyMapping: 'legacy',
  scripts: undefined,
};

/**
 * Connects and sends AUTH without waiting for the answer. No reply may have more than `mostBytes`.
 */
export async function openClient(origin: Origin, mostBytes = mostBytesOfReply): Promise<OpenedClient | Failed> {
  const client =
    'duplicate' in origin
      ? origin.duplicate({ ...safe, ...plain })
      : new Redis({ ...endpointOptions(origin), ...safe });
  let cause: unknown = null;
  client.on('error', (error) => {
    cause = error;
  });
  const limit = new ReplyLimit(client, mostBytes);
  try {
    await verifying(() => client.connect());
    // A twin has logged in by itself.
    const access = 'duplicate' in origin ? Promise.resolve(null) : authenticate(client, origin);
    // In another database our key would exclude nobody, so this answer is worth a round trip.
    if (origin.db !== 0) await client.select(origin.db);
    limit.answered();
    return { client, access, canSpeak3: !('duplicate' in origin), limit };
  } catch (error) {
    // One that never opened has ended already, and would only set a timer that keeps the program alive.
    if (client.status !== 'end') client.disconnect();
    return limit.trouble ? failed('connection', limit.trouble) : failedBy(cause ?? error);
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
  return {
    host: address.host,
    port: address.port,
    ...(address.tls ? { tls: { ...address.tls, rejectUnauthorized: true } } : {}),
  };
}

const unsafeSetting = 'NODE_TLS_REJECT_UNAUTHORIZED';

/**
 * Certificates are verified whatever that variable says. It is hidden while the connection is begun,
 * because Node would warn on stderr that they are not.
 */
function verifying<Result>(connect: () => Result): Result {
  const setting = process.env[unsafeSetting];
  if (setting !== undefined) {
    delete process.env[unsafeSetting];
    // ioredis begins in the next tick.
    setImmediate(() => {
      process.env[unsafeSetting] ??= setting;
    });
  }
  return connect();
}
