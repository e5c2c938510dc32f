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
  /** In how many ms an open connection logs in again; null: never. */
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

/** The message is one line: the text without its password, why, and what to write instead. */
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

/**
 * Reads `redis://[user[:pass]@]host[:port][/db]`, `rediss://`, `valkey://`, `valkeys://`,
 * `unix://[user:pass@]/path[?db=N]`, `redis+sentinel://[user[:pass]@]host:port,…/NAME[/db]`,
 * `host:port` or `host`; IPv6 in brackets, credentials percent-encoded, port 6379 and database 0
 * unless given.
 * @throws AddressError
 */
export function parseAddress(text: string): MasterAddress {
  if (text === '') throw new AddressError(text, `no address (write ${forms})`);
  if (/[\s\p{Cc}]/u.test(text))
    throw new AddressError(text, 'contains a space or a control character (one URL each)');
  const separator = schemeLength(text);
  if (separator < 0) {
    if (/^(rediss?|valkeys?|unix):(?!\d+$)/i.test(text))
      throw new AddressError(text, `no // after the scheme (write ${forms})`);
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
  const [login, location] = splitLogin(text, rest);
  const [, place = '', dbText, query] = /^([^/?]*)(?:\/([^?]*))?(\?.*)?$/.exec(location) ?? [];
  if (query !== undefined)
    throw new AddressError(text, 'unknown query parameter (write the database as /2)');
  const host = parsePlace(text, place, 6379, forms);
  const db = parseDb(text, dbText || '0');
  const name = `${scheme}://${shown(login)}${shownHost(host)}${db === 0 ? '' : `/${db}`}`;
  return { name, ...host, db, ...login, ...(scheme === 'rediss' ? { tls: {} } : {}) };
}

function parseSentinels(text: string, scheme: string, rest: string): MasterAddress {
  const [login, location] = splitLogin(text, rest);
  const [places = '', primary = '', dbText, ...others] = location.split('/');
  if (primary === '') throw new AddressError(text, `no /NAME of a primary (write ${sentinelForm})`);
  if (!/^[\w.-]{1,200}$/.test(primary) || others.length > 0)
    throw new AddressError(text, `not a name that sentinels give (write ${sentinelForm})`);
  const hosts = places.split(',').map((one) => parsePlace(text, one, 26_379, sentinelForm));
  const db = parseDb(text, dbText || '0');
  const path = `${primary}${db === 0 ? '' : `/${db}`}`;
  const name = `${scheme}://${shown(login)}${hosts.map(shownHost).join(',')}/${path}`;
  const tls = scheme.startsWith('rediss') ? { tls: {} } : {};
  return { name, sentinels: { primary, hosts }, db, ...login, ...tls };
}

/** `defaultPort` and `form` where the text has no port, or no host. */
function parsePlace(text: string, place: string, defaultPort: number, form: string): SentinelHost {
  const refuse = (why: string): never => {
    const isList = place.includes(';');
    throw new AddressError(text, isList ? 'has a semicolon (commas separate addresses)' : why);
  };
  const [found, hostText = '', port] = /^(\[[^\]]*\]|[^:]*)(?::([^:]*))?$/.exec(place) ?? [];
  if (found === undefined) refuse('not a host and a port (write IPv6 in brackets: [::1]:6379)');
  if (hostText === '') refuse(`no host (write ${form})`);
  const isBracketed = hostText.startsWith('[');
  const host = isBracketed ? hostText.slice(1, -1) : hostText;
  if (isBracketed && !isIPv6(host)) refuse('not an IPv6 address in the brackets');
  if (!isBracketed && !/^[\p{L}\p{N}_]([\p{L}\p{N}._-]*[\p{L}\p{N}_.])?$/u.test(host))
    refuse('not a host name');
  if (port === undefined) return { host, port: defaultPort };
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    refuse('not a port (1 to 65535)');
  return { host, port: Number(port) };
}

function shownHost({ host, port }: SentinelHost): string {
  return `${bracketed(host)}:${port}`;
}

function parseSocket(text: string, rest: string): MasterAddress {
  const [, place = '', query] = /^([^?]*)(?:\?(.*))?$/s.exec(rest) ?? [];
  const [login, encoded] = place.startsWith('/') ? [{}, place] : splitLogin(text, place);
  const path = decoded(text, encoded);
  if (!/^\/\P{Cc}*[^/\p{Cc}]$/u.test(path))
    throw new AddressError(text, 'not an absolute path (write unix:///run/redis.sock)');
  if (query !== undefined && !query.startsWith('db='))
    throw new AddressError(text, 'unknown query parameter (the only one is ?db=N)');
  const db = parseDb(text, query?.slice('db='.length) ?? '0');
  const name = `unix://${shown(login)}${path}${db === 0 ? '' : `?db=${db}`}`;
  return { name, path, db, ...login };
}

/** The login, and what is behind its @. */
function splitLogin(text: string, rest: string): [Login, string] {
  const at = rest.lastIndexOf('@');
  return [at < 0 ? {} : parseLogin(text, rest.slice(0, at)), rest.slice(at + 1)];
}

function parseLogin(text: string, userInfo: string): Login {
  if (/[/?]/.test(userInfo))
    throw new AddressError(text, 'a / or ? in the login (write %2F or %3F)');
  const colon = userInfo.indexOf(':');
  const username = decoded(text, colon < 0 ? userInfo : userInfo.slice(0, colon));
  const password = colon < 0 ? '' : decoded(text, userInfo.slice(colon + 1));
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
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
