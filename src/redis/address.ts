// Reads the address of a master and its login from one line of text. *Invariant:* no message and no
// name made here contains any part of a login. ioredis is not used for this, because it reads
// `valkey://h:1` as the host "valkey", `/notanumber` as database NaN and `h:7001/2` as a socket
// path.

import { isIPv6 } from 'node:net';
import type { Failed } from '../lock/types.ts';
import { ConfigError } from '../text/errors.ts';
import { quotedAddress, schemeLength } from '../text/foreign-text.ts';
import { isFailed } from './errors.ts';

/** File contents (PEM), not file names. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
}

/** A password that changes. */
export interface PasswordSource {
  /**
   * The password to log in with now, or why there is none. `refused`: the one that a server has
   * just refused. Never rejects.
   */
  password(refused?: string): Promise<string | Failed>;
  /** In how many ms an open connection logs in anew; null: never. */
  renewInMs(): number | null;
}

export interface SentinelHost {
  /** IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Where to ask for the address of a primary. */
export interface Sentinels {
  /** The name under which they watch it. */
  readonly primary: string;
  readonly hosts: readonly SentinelHost[];
}

/** Either host and port, or the path of a unix socket, or sentinels. */
export interface MasterAddress {
  /** For messages: `redis://***@10.0.0.1:6379/2`. */
  readonly name: string;
  /** IPv6 without brackets. */
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly sentinels?: Sentinels;
  readonly db: number;
  readonly username?: string;
  readonly password?: string;
  /** Asked at each connection; without it the password does not change. */
  readonly passwordSource?: PasswordSource;
  /** Present means TLS. */
  readonly tls?: TlsOptions;
  /** One of the masters of --local: where it is not there, the next run starts it. */
  readonly isLocal?: true;
}

/** The message is one line, quotes the text without its password and says what to write instead. */
export class AddressError extends Error {
  override readonly name = 'AddressError';

  constructor(text: string, why: string) {
    super(`${quotedAddress(text)}: ${why}`);
  }
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

const schemes = /^(redis|rediss|valkey|valkeys|unix)$/;
const forms = 'redis://[user[:password]@]host[:port][/db], rediss://… or unix:///path';
const sentinelForm = 'redis+sentinel://[user[:password]@]host:port,host:port/NAME[/db]';
const sentinelPort = 26_379;

/**
 * Reads `redis://[user[:pass]@]host[:port][/db]`, `rediss://`, `valkey://`, `valkeys://`,
 * `unix://[user:pass@]/path[?db=N]`, `redis+sentinel://[user[:pass]@]host:port,…/NAME[/db]`,
 * `host:port` or `host`; IPv6 in brackets, credentials
 * percent-encoded, port 6379 and database 0 unless given.
 * @throws AddressError
 */
export function parseAddress(text: string): MasterAddress {
  if (text === '') throw new AddressError(text, `no address (write ${forms})`);
  if (/[\s\p{Cc}]/u.test(text))
    throw new AddressError(text, 'contains a space or a control character (one URL each)');
  const separator = schemeLength(text);
  if (separator < 0) {
    if (/^(rediss?|valkeys?|unix):(?!\d+$)/i.test(text)) {
      throw new AddressError(text, `no // after the scheme (write ${forms})`);
    }
    if (/[@/?#]/.test(text)) throw new AddressError(text, `not an address (write ${forms})`);
    return parseServer(text, 'redis', text);
  }
  const scheme = text.slice(0, separator).toLowerCase().replace('valkey', 'redis');
  const isSentinel = /^rediss?\+sentinel$/.test(scheme);
  if (!isSentinel && !schemes.test(scheme))
    throw new AddressError(text, `unknown scheme (write ${forms})`);
  if (text.includes('#')) throw new AddressError(text, 'contains a # (write %23 in a password)');
  const rest = text.slice(separator + 3);
  if (isSentinel) return parseSentinels(text, scheme, rest);
  return scheme === 'unix' ? parseSocket(text, rest) : parseServer(text, scheme, rest);
}

/** That of a master of --local. */
export function localAddress(socket: string): MasterAddress {
  const path = socket.split('/').map(encodeURIComponent).join('/');
  return { ...parseAddress(`unix://${path}`), isLocal: true };
}

/**
 * The same text for two addresses of one server, whatever the database and the user:
 * `10.0.0.1:6379` or `unix:/path`.
 */
export function endpointOf(address: MasterAddress): string {
  if (address.sentinels !== undefined) {
    const { hosts, primary } = address.sentinels;
    return `${hosts.map(shownHost).sort().join(',').toLowerCase()}/${primary}`;
  }
  if (address.path !== undefined) return `unix:${address.path}`;
  return `${bracketed(address.host ?? '').toLowerCase()}:${address.port}`;
}

function parseServer(text: string, scheme: string, rest: string): MasterAddress {
  const at = rest.lastIndexOf('@');
  const login = parseLogin(text, at < 0 ? null : rest.slice(0, at));
  const parts = /^(\[[^\]]*\]|[^:/?]*)(?::([^/?]*))?(?:\/([^?]*))?(\?.*)?$/.exec(
    rest.slice(at + 1),
  );
  if (parts === null)
    throw new AddressError(text, 'not a host and a port (write IPv6 in brackets: [::1]:6379)');
  const [, hostText = '', portText, dbText = '', query] = parts;
  if (query !== undefined)
    throw new AddressError(text, 'unknown query parameter (write the database as /2)');
  const host = parseHost(text, hostText);
  const port = parsePort(text, portText);
  const db = parseDb(text, dbText === '' ? '0' : dbText);
  const name = `${scheme}://${shown(login)}${bracketed(host)}:${port}${db === 0 ? '' : `/${db}`}`;
  return { name, host, port, db, ...login, ...(scheme === 'rediss' ? { tls: {} } : {}) };
}

function parseSentinels(text: string, scheme: string, rest: string): MasterAddress {
  const at = rest.lastIndexOf('@');
  const login = parseLogin(text, at < 0 ? null : rest.slice(0, at));
  const [hostList = '', primary = '', dbText = '', ...others] = rest.slice(at + 1).split('/');
  if (primary === '') throw new AddressError(text, `no /NAME of a primary (write ${sentinelForm})`);
  if (!/^[\w.-]{1,200}$/.test(primary) || others.length > 0)
    throw new AddressError(text, `not a name that sentinels give (write ${sentinelForm})`);
  const hosts = hostList.split(',').map((one): SentinelHost => {
    const [, hostText = '', portText] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(one) ?? [];
    if (hostText === '') throw new AddressError(text, `no host (write ${sentinelForm})`);
    const host = parseHost(text, hostText);
    return { host, port: portText === undefined ? sentinelPort : parsePort(text, portText) };
  });
  const db = parseDb(text, dbText === '' ? '0' : dbText);
  const path = `${primary}${db === 0 ? '' : `/${db}`}`;
  const name = `${scheme}://${shown(login)}${hosts.map(shownHost).join(',')}/${path}`;
  const tls = scheme.startsWith('rediss') ? { tls: {} } : {};
  return { name, sentinels: { primary, hosts }, db, ...login, ...tls };
}

function shownHost({ host, port }: SentinelHost): string {
  return `${bracketed(host)}:${port}`;
}

function parseSocket(text: string, rest: string): MasterAddress {
  const queryAt = rest.indexOf('?');
  const query = queryAt < 0 ? null : rest.slice(queryAt + 1);
  const location = queryAt < 0 ? rest : rest.slice(0, queryAt);
  const at = location.startsWith('/') ? -1 : location.lastIndexOf('@');
  const login = parseLogin(text, at < 0 ? null : location.slice(0, at));
  const path = decoded(text, location.slice(at + 1));
  if (!/^\/\P{Cc}*[^/\p{Cc}]$/u.test(path))
    throw new AddressError(text, 'not an absolute path (write unix:///run/redis.sock)');
  if (query !== null && !query.startsWith('db=')) {
    throw new AddressError(text, 'unknown query parameter (the only one is ?db=N)');
  }
  const db = parseDb(text, query === null ? '0' : query.slice('db='.length));
  return {
    name: `unix://${shown(login)}${path}${db === 0 ? '' : `?db=${db}`}`,
    path,
    db,
    ...login,
  };
}

function parseLogin(text: string, userInfo: string | null): Login {
  if (userInfo === null) return {};
  if (/[/?]/.test(userInfo))
    throw new AddressError(text, 'a / or ? in the login (write %2F or %3F)');
  const colon = userInfo.indexOf(':');
  const username = decoded(text, colon < 0 ? userInfo : userInfo.slice(0, colon));
  const password = colon < 0 ? '' : decoded(text, userInfo.slice(colon + 1));
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
}

function parseHost(text: string, host: string): string {
  if (host === '') throw new AddressError(text, `no host (write ${forms})`);
  if (host.startsWith('[')) {
    const inner = host.slice(1, -1);
    if (!isIPv6(inner)) throw new AddressError(text, 'not an IPv6 address in the brackets');
    return inner;
  }
  if (!/^[\p{L}\p{N}_]([\p{L}\p{N}._-]*[\p{L}\p{N}_.])?$/u.test(host))
    throw new AddressError(text, whyWrong(host, 'not a host name'));
  return host;
}

/** Why this part of an address is wrong. */
function whyWrong(part: string, why: string): string {
  return part.includes(';') ? 'has a semicolon (commas separate addresses)' : why;
}

function parsePort(text: string, port: string | undefined): number {
  if (port === undefined) return 6379;
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    throw new AddressError(text, whyWrong(port, 'not a port (1 to 65535)'));
  }
  return Number(port);
}

function parseDb(text: string, db: string): number {
  if (!/^\d{1,9}$/.test(db))
    throw new AddressError(text, 'not a database number (0 or more, as in redis://host:6379/2)');
  return Number(db);
}

function decoded(text: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new AddressError(text, 'a % that encodes nothing (write %25 for a percent sign)');
  }
}

function shown({ username, password }: Login): string {
  return username === undefined && password === undefined ? '' : '***@';
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Runs the commands that print passwords, each once, so that the first attempt has them.
 * @throws ConfigError when one of them fails
 */
export async function readPasswords(addresses: readonly MasterAddress[]): Promise<void> {
  const sources = new Set(addresses.flatMap(({ passwordSource }) => passwordSource ?? []));
  const passwords = await Promise.all([...sources].map((source) => source.password()));
  const failure = passwords.find(isFailed);
  if (failure !== undefined) throw new ConfigError(failure.message);
}
