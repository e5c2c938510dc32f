// An ioredis client set up so that nothing is ever queued or sent twice: it connects once, and ends
// at the first trouble. Note: ioredis is given no password and no database, so that what a server
// answers to them is known here. A client that a program lends us is never used: its twin is, set up
// like this.

import { Redis } from 'ioredis';
import type { Failed } from '../lock/types.ts';
import type { MasterAddress } from './address.ts';
import { ReplyGuard } from './reply-guard.ts';
import { failedBy } from './trouble.ts';

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
  /** Sends one command: `send` writes it before it returns its promise. */
  readonly ask: <Reply>(send: () => Promise<Reply>) => Promise<Reply>;
  /** Why a command failed with this error: for one that the end of the connection ended, why it ended. */
  readonly whyFailed: (error: unknown) => Failed;
}

/** Of one reply, by default: what a page of a thousand histories has at most. */
const mostBytesOfReply = 64 * 1024 * 1024;
/** AUTH, SELECT, READONLY and what else a client sends by itself when it has connected. */
const mostLoginReplies = 10;

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
 * Connects and logs in. No reply may have more than `mostBytes`.
 */
export async function openClient(
  origin: Origin,
  mostBytes = mostBytesOfReply,
): Promise<OpenedClient | Failed> {
  const isTwin = 'duplicate' in origin;
  const client = isTwin
    ? origin.duplicate({ ...safe, ...plain })
    : new Redis({ ...endpointOptions(origin), ...safe });
  // The first one: those that follow are what it led to.
  let cause: unknown = null;
  client.on('error', (error) => {
    cause ??= error;
  });
  const guard = new ReplyGuard(client, mostBytes, isTwin ? mostLoginReplies : 0);
  const ask = <Reply>(send: () => Promise<Reply>) => {
    guard.asked();
    return send();
  };
  const whyFailed = (error: unknown) => guard.trouble ?? failedBy(error, cause);
  try {
    await verifying(() => client.connect());
    await inTime(client, [
      // A twin logs in by itself.
      isTwin || origin.password === undefined
        ? null
        : logIn(origin, (command, ...words) => ask(() => client.call(command, ...words))),
      // In another database our key would exclude nothing.
      origin.db === 0 ? null : ask(() => client.select(origin.db)),
    ]);
    return { client, ask, whyFailed };
  } catch (error) {
    // One that never opened has ended already, and would only set a timer that keeps the program alive.
    if (client.status !== 'end') client.disconnect();
    return whyFailed(error);
  }
}

/**
 * Waits for these answers, which is worth a round trip: on a long command of a client that has not
 * logged in a server closes the connection, perhaps before its refusal is read. Rejects with the
 * first that is refused.
 */
async function inTime(client: Redis, answers: readonly (Promise<unknown> | null)[]): Promise<void> {
  if (answers.every((answer) => answer === null)) return;
  const timeout = setTimeout(
    () =>
      client.stream.destroy(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })),
    connectTimeoutMs,
  );
  const settled = await Promise.allSettled(answers);
  clearTimeout(timeout);
  const refused = settled.find((one) => one.status === 'rejected');
  if (refused) throw refused.reason;
}

/** A server that asks for no password at all is no failure. */
async function logIn(
  { username, password = '' }: MasterAddress,
  call: (command: string, ...words: string[]) => Promise<unknown>,
): Promise<void> {
  try {
    await call('AUTH', ...(username === undefined ? [password] : [username, password]));
  } catch (error) {
    if (!/no password is set|without any password configured/.test(String(error))) throw error;
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
