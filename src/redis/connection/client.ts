// An ioredis client set up so that nothing is ever queued or sent twice: it connects once, and ends
// at the first error. Instead of a client that a program lends to the library, a duplicate of it is
// used, set up like this.
// *Note:* ioredis is given no password and no database, so that the server's answers to them are
// seen here.

import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { domainToASCII } from 'node:url';
import { Redis } from 'ioredis';
import { type Clock, sleepAwake } from '../../lock/ports.ts';
import type { Failed } from '../../lock/types.ts';
import type { MasterAddress, PasswordSource, TlsOptions } from '../address.ts';
import {
  failedBy,
  isAbsent,
  isFailed,
  isRefusedLogin,
  perhapsTls,
  plainServer,
  silentTls,
  startsLater,
} from '../errors.ts';
import { speaksPlain } from './plain-server.ts';
import { ReplyGuard } from './reply-guard.ts';

/**
 * How long a silent host may take to connect, to log us in, or to name a primary. A refused
 * connection fails at once.
 */
const limitMs = 2_000;

/**
 * The client of another program, of any version of ioredis. A duplicate keeps its host, its login,
 * its TLS options and its connector.
 */
export interface LentClient {
  /** For messages, as in a MasterAddress. */
  readonly name: string;
  readonly db: number;
  /** A new client with these options on top of its own. */
  readonly duplicate: (options: object) => Redis;
}

/** What a connection is made from. */
export type Origin = MasterAddress | LentClient;

export interface OpenedClient {
  readonly client: Redis;
  /** Sends one command: `send` writes it before it returns its promise. */
  readonly ask: <Reply>(send: () => Promise<Reply>) => Promise<Reply>;
  /** Why a command failed with this error; if the connection has ended, why that ended. */
  readonly whyFailed: (error: unknown) => Failed;
  /** A password was given, and the server has asked for none. */
  readonly isLoginIdle: boolean;
}

/** The most bytes of one reply, by what is asked on a connection. */
export const maxReplyBytes = {
  /** The scripts of a lock answer with a few kilobytes. */
  lock: 1024 * 1024,
  /** A page of a thousand histories is smaller. */
  look: 64 * 1024 * 1024,
  /** Logins, ROLE, and where a primary is. */
  brief: 64 * 1024,
} as const;
/** The replies to AUTH, SELECT, READONLY and other commands that a client sends by itself. */
const maxLoginReplies = 10;

const safe = {
  lazyConnect: true,
  connectTimeout: 0, // See inTime().
  retryStrategy: null,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  enableReadyCheck: false,
  protocol: 2,
  disableClientInfo: true,
} as const;

/**
 * Options that a lent client may have and a duplicate must not: those that delay commands, change
 * them or read replies differently.
 */
const plain = {
  connectTimeout: limitMs, // It may have to ask sentinels first, each with this limit.
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
 * Connects and logs in. `maxReplyBytes`: the most that one reply may have; `isRenewing`: whether it
 * logs in again before a password ends, which a connection that only subscribes cannot. Never
 * rejects.
 */
export async function openClient(
  origin: Origin,
  clock: Clock,
  maxReplyBytes: number,
  isRenewing: boolean,
): Promise<OpenedClient | Failed> {
  const isDuplicate = 'duplicate' in origin;
  // A duplicate has an endpoint and logs in by itself.
  const address: Partial<MasterAddress> = isDuplicate ? {} : origin;
  const { passwordSource: source, username } = address;
  const given = source ? await source.password() : address.password;
  if (isFailed(given)) return given;
  const client = isDuplicate
    ? origin.duplicate({ ...safe, ...plain })
    : new Redis({ ...endpointOptions(address), ...safe });
  const seen: Seen = { cause: null, isConnected: false, isPlainServer: false };
  client.on('error', (error) => {
    seen.cause ??= error;
  });
  const guard = new ReplyGuard(client, maxReplyBytes, isDuplicate ? maxLoginReplies : 0);
  const ask = <Reply>(send: () => Promise<Reply>) => {
    // A command that ioredis refuses to write gets no reply, so none may be announced.
    if (client.status === 'ready' && client.stream.writable) guard.asked();
    return send();
  };
  const whyFailed = (error: unknown) => failureOf(error, address, seen, guard);
  let isLoginIdle = false;
  const call: Call = (command, ...args) => ask(() => client.call(command, ...args));
  const enter = (password: string | undefined) =>
    allEntered(client, clock, [
      password === undefined
        ? null
        : logIn(username, password, call).then((isIdle) => {
            isLoginIdle = isIdle;
          }),
      // In another database our key would exclude no other client.
      origin.db === 0 ? null : ask(() => client.select(origin.db)),
    ]);
  const connected = new AbortController();
  if (address.tls)
    void speaksPlain(address, clock, connected.signal).then((isPlain) => {
      seen.isPlainServer = isPlain;
      if (isPlain && client.status !== 'end') client.disconnect();
    });
  try {
    const connecting = verifying(() => client.connect());
    await (isDuplicate ? connecting : inTime(client, clock, connecting));
    seen.isConnected = true;
    connected.abort();
    if (source === undefined) await enter(given);
    else await enterAgain(source, given ?? '', enter);
    if (source && isRenewing) renewLater(client, source, username, call);
    return { client, ask, whyFailed, isLoginIdle };
  } catch (error) {
    connected.abort();
    // A client that has ended would only set a timer, which keeps the program alive.
    if (client.status !== 'end') client.disconnect();
    return whyFailed(error);
  }
}

/** What a new connection has shown of its server. */
interface Seen {
  /** The first error: those that follow are its consequences. */
  cause: unknown;
  isConnected: boolean;
  isPlainServer: boolean;
}

function failureOf(
  error: unknown,
  { host, tls, isLocal }: Partial<MasterAddress>,
  { cause, isConnected, isPlainServer }: Seen,
  guard: ReplyGuard,
): Failed {
  if (guard.problem) return guard.problem;
  if (isPlainServer) return plainServer;
  const { code } = (cause ?? {}) as { code?: string };
  if (code === 'ETIMEDOUT' && !isConnected && tls) return silentTls;
  const failure = failedBy(error, cause);
  if (isLocal && isAbsent(cause)) return { ...failure, advice: startsLater };
  if (!failure.isVague) return failure;
  const isMute = host !== undefined && !tls && isConnected && !guard.hasBegun;
  return guard.lastError ?? (isMute ? { ...failure, advice: perhapsTls } : failure);
}

/** Ends the connection where this takes longer than the limit; what is awaited rejects then. */
export async function inTime<Result>(
  client: Redis,
  clock: Clock,
  awaited: Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  void sleepAwake(clock, limitMs, over.signal).then(() => {
    const late = Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' });
    if (!over.signal.aborted) client.stream.destroy(late);
  });
  return awaited.finally(() => over.abort());
}

/**
 * Waits for these answers before the first long command: a server that gets a long command before
 * the login closes the connection, perhaps before its refusal is read. Rejects with the first
 * refusal.
 */
async function allEntered(
  client: Redis,
  clock: Clock,
  answers: readonly (Promise<unknown> | null)[],
): Promise<void> {
  if (answers.every((answer) => answer === null)) return;
  const settled = await inTime(client, clock, Promise.allSettled(answers));
  const refused = settled.find((one) => one.status === 'rejected');
  if (refused) throw refused.reason;
}

type Call = (command: string, ...args: string[]) => Promise<unknown>;

/** Logs in, and once more where the password has been changed in the meantime. */
async function enterAgain(
  source: PasswordSource,
  password: string,
  enter: (password: string) => Promise<unknown>,
): Promise<void> {
  try {
    await enter(password);
  } catch (error) {
    const next = isRefusedLogin(error) ? await source.password(password) : password;
    if (isFailed(next) || next === password) throw error;
    await enter(next);
  }
}

/**
 * Logs in again before a password ends, as long as the connection is open. If that fails, the
 * connection goes on as it is, and the next one logs in with the password of that time.
 */
function renewLater(
  client: Redis,
  source: PasswordSource,
  username: string | undefined,
  call: Call,
): void {
  const delayMs = source.renewInMs();
  if (delayMs === null) return;
  const timer = setTimeout(async () => {
    client.off('end', cancel);
    const password = await source.password();
    if (client.status !== 'ready') return;
    const enter = (one: string) => logIn(username, one, call);
    if (!isFailed(password)) await enterAgain(source, password, enter).catch(() => {});
    if (client.status === 'ready') renewLater(client, source, username, call);
  }, delayMs);
  const cancel = () => clearTimeout(timer);
  timer.unref();
  client.once('end', cancel);
}

/** Logs in. Resolves with whether the server needs no password, which is no failure. */
async function logIn(username: string | undefined, password: string, call: Call): Promise<boolean> {
  try {
    await call('AUTH', ...(username === undefined ? [password] : [username, password]));
    return false;
  } catch (error) {
    if (!/no password is set|without any password configured/.test(String(error))) throw error;
    return true;
  }
}

function endpointOptions({ path, host = '', port, tls }: Partial<MasterAddress>): object {
  if (path !== undefined) return { path };
  return { host, port, ...(tls ? { tls: verifiedTls(tls, host) } : {}) };
}

/**
 * The certificate is verified for `servername`, or else for the host. A name is sent as well (SNI),
 * because routers choose a server or its certificate by it; Node sends none by itself. RFC 6066
 * allows neither an address nor a dot at the end.
 */
function verifiedTls({ servername, ...files }: TlsOptions, host: string): object {
  const expected = servername ?? host;
  const name = isIP(expected) ? '' : domainToASCII(expected).replace(/\.$/, '');
  const check = (_: string, certificate: PeerCertificate) =>
    checkServerIdentity(expected, certificate);
  // "127.1" is an address too, which only the conversion shows.
  const identity =
    name === '' || isIP(name) ? { checkServerIdentity: check } : { servername: name };
  return { ...files, ...identity, rejectUnauthorized: true };
}

/**
 * Certificates are verified whatever this variable says. It is hidden while the connection is
 * started, because Node would warn on stderr that they are not.
 */
const unsafeSetting = 'NODE_TLS_REJECT_UNAUTHORIZED';

function verifying<Result>(connect: () => Result): Result {
  const setting = process.env[unsafeSetting];
  if (setting === undefined) return connect();
  delete process.env[unsafeSetting];
  // ioredis connects in the next tick.
  setImmediate(() => {
    process.env[unsafeSetting] ??= setting;
  });
  return connect();
}
