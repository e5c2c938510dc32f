// Reads users, passwords and certificates for the masters from the places that the configuration
// names, and checks them before a connection needs them. The fields of one master win over those at
// the top level, which apply to all masters. A field that is given twice for one master (in its URL
// and beside it) is an error.

import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { MasterAddress, TlsOptions } from '../../redis/address.ts';
import { ConfigError, fileError, ValueError } from '../../text/errors.ts';
import { quoted } from '../../text/foreign-text.ts';
import type { Given, Layer, LoginGiven, MasterGiven, TlsGiven } from '../layer.ts';
import type { LoginKey } from '../setting-table.ts';
import { readTextFile } from '../text-file.ts';
import { kinds } from '../values.ts';
import type { Warn } from '../warning.ts';
import { PasswordCommand, PasswordFile, passwordIn } from './password-source.ts';

/** @throws ConfigError when the file cannot be read */
async function readText({ text: file, base, subject }: Given): Promise<string> {
  try {
    return readTextFile(resolve(base, file)).toString();
  } catch (error) {
    throw new ConfigError(
      `${subject}: ${quoted(file)}: ${fileError(error, 'read')} (paths start from ${base})`,
    );
  }
}

/** @throws ConfigError */
function notEmpty(text: string, subject: string): string {
  if (text === '') throw new ConfigError(`${subject}: empty (leave it out, or fill it in)`);
  return text;
}

/**
 * What TLS needs, without keys that are not given.
 * @throws ConfigError when a file cannot be read, or does not hold what it should
 */
async function readTls(
  { caFile, certFile, keyFile, servername }: TlsGiven,
  warn: Warn,
): Promise<TlsOptions> {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const why = 'only one of certFile and keyFile: a client certificate needs both';
    throw new ConfigError(`${(certFile ?? keyFile)?.subject}: ${why} (add the other)`);
  }
  const [ca, cert, key] = await Promise.all(
    [caFile, certFile, keyFile].map((field) => field && readText(field)),
  );
  if (keyFile !== undefined)
    warnIfExposed(resolve(keyFile.base, keyFile.text), 'private key', warn);
  const named =
    servername === undefined ? {} : { servername: notEmpty(servername.text, servername.subject) };
  if (ca === undefined && cert === undefined) return named;
  const { isAuthority, isCertificate, isKey, isPair } = await import('./pem.ts');
  const refuse = (field: Given | undefined, why: string) => {
    throw new ConfigError(`${field?.subject}: ${quoted(field?.text ?? '')}: ${why}`);
  };
  if (ca !== undefined && !isAuthority(ca)) {
    refuse(caFile, 'holds no certificate (name the PEM file of the authority)');
  }
  if (cert !== undefined && key !== undefined) {
    if (!isCertificate(cert)) refuse(certFile, 'holds no certificate (name a PEM file)');
    if (!isKey(key)) refuse(keyFile, 'holds no private key without a passphrase (name a PEM file)');
    if (!isPair(cert, key))
      refuse(keyFile, 'does not belong to certFile (name the key of that certificate)');
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...named,
  };
}

/** A password, or where it comes from at each connection, or both. */
type Secret = Pick<MasterAddress, 'password' | 'passwordSource'>;

/** The login of masters that have none of their own. */
export interface DefaultLogin extends Secret {
  readonly username?: string;
  /** For masters with a `tls` of their own, which adds to it. */
  readonly tls: TlsOptions;
  /** For the others: with the variables of the environment. */
  readonly sharedTls: TlsOptions;
  /** Key to source, for the keys that were given. */
  readonly sources: Readonly<Record<string, string>>;
}

const secretKeys = ['password', 'passwordFile', 'passwordCommand'] as const;

/**
 * The login at the top level of the configuration.
 * @throws ConfigError when a file cannot be read, or when two of password, passwordFile and
 * passwordCommand come from the same layer
 */
export async function readDefaultLogin(
  environment: Layer,
  file: Layer,
  warn: Warn,
): Promise<DefaultLogin> {
  const layers = [environment.values, file.values];
  const first = (...keys: LoginKey[]) => layers.find((one) => keys.some((key) => one.has(key)));
  const secrets = first(...secretKeys);
  const given: LoginGiven = Object.fromEntries(
    [
      ['username', first('username')?.get('username')],
      ...secretKeys.map((key) => [key, secrets?.get(key)]),
      ['passwordTtl', first('passwordTtl')?.get('passwordTtl')],
    ].filter(([, one]) => one !== undefined),
  );
  const own = await readTls(file.tls, warn);
  const [variable] = Object.values(environment.tls);
  const shared = variable ? await readTls({ ...file.tls, ...environment.tls }, warn) : own;
  const [tls] = [variable ?? [], ...Object.values(file.tls)].flat();
  const named = Object.entries({ ...given, ...(tls ? { tls } : {}) });
  return {
    ...(await readLogin(given, warn)),
    tls: own,
    sharedTls: shared,
    sources: Object.fromEntries(named.map(([key, { source }]) => [key, source])),
  };
}

/**
 * The address with the credentials of the master itself and then the defaults filled in.
 * @throws ConfigError
 */
export async function logIn(
  address: MasterAddress,
  { subject, login, tls }: MasterGiven,
  byDefault: DefaultLogin,
  warn: Warn,
): Promise<MasterAddress> {
  const { username, ...own } = await readLogin(login, warn);
  const hasOwn = Object.keys(own).length > 0;
  if (username !== undefined && address.username !== undefined)
    throw twice(`${subject}.username`, 'in the url too');
  if (hasOwn && address.password !== undefined)
    throw twice(`${subject}.password`, 'in the url too');
  const user = username ?? address.username ?? byDefault.username;
  const inherited = address.password === undefined ? secretOf(byDefault) : {};
  const secret = hasOwn ? own : inherited;
  const filled = { ...address, ...secret, ...(user === undefined ? {} : { username: user }) };
  const hasTls = Object.keys(tls).length > 0;
  if (address.tls === undefined) {
    if (!hasTls) return filled;
    throw new ConfigError(`${subject}.tls: ${address.name}: not a TLS address (write rediss://)`);
  }
  if (!hasTls) return { ...filled, tls: byDefault.sharedTls };
  return { ...filled, tls: { ...byDefault.tls, ...(await readTls(tls, warn)) } };
}

function secretOf({ password, passwordSource }: Secret): Secret {
  return {
    ...(password === undefined ? {} : { password }),
    ...(passwordSource === undefined ? {} : { passwordSource }),
  };
}

async function readLogin(
  { username, ...given }: LoginGiven,
  warn: Warn,
): Promise<Secret & { readonly username?: string }> {
  const { password, passwordFile, passwordCommand, passwordTtl } = given;
  const user =
    username === undefined ? {} : { username: notEmpty(username.text, username.subject) };
  const [one, other] = secretKeys.filter((key) => given[key] !== undefined);
  if (one !== undefined && other !== undefined)
    throw twice(given[one]?.subject ?? one, `as ${other} too`);
  if (password !== undefined)
    return { ...user, password: notEmpty(password.text, password.subject) };
  if (passwordFile !== undefined)
    return { ...user, ...(await readPasswordFile(passwordFile, warn)) };
  if (passwordCommand === undefined) return user;
  const ttlMs = passwordTtl === undefined ? null : readTtlOf(passwordTtl);
  const command = notEmpty(passwordCommand.text, passwordCommand.subject);
  return { ...user, passwordSource: new PasswordCommand(command, passwordCommand.subject, ttlMs) };
}

function readTtlOf({ text, subject }: Given): number {
  try {
    return kinds.span.parse(text);
  } catch (error) {
    if (error instanceof ValueError) throw new ConfigError(`${subject}: ${error.message}`);
    throw error;
  }
}

async function readPasswordFile(given: Given, warn: Warn): Promise<Secret> {
  const { text: file, base, subject } = given;
  const path = resolve(base, file);
  const password = passwordIn(await readText(given));
  const status = warnIfExposed(path, 'password', warn);
  notEmpty(password, `${subject}: ${quoted(file)}`);
  // A pipe, as <(...) of a shell is, can be read once only.
  if (!status.isFile()) return { password };
  return { password, passwordSource: new PasswordFile(path, password) };
}

/**
 * Read permission for a group may be intended, as for the secrets of a container; for all users it
 * is a mistake.
 */
function warnIfExposed(path: string, what: string, warn: Warn): Stats {
  const status = statSync(path);
  if ((status.mode & 0o004) !== 0) {
    const message = `holds a ${what} and is readable by others`;
    warn({ kind: 'exposed-secret', file: path, message, advice: 'chmod 600 it' });
  }
  return status;
}

function twice(subject: string, where: string): ConfigError {
  return new ConfigError(`${subject}: given ${where} (keep one)`);
}
