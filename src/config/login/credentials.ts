// Reads users, passwords and certificates for the masters from the places that the configuration
// names, and checks them before a connection needs them. The fields of one master win over those at
// the top level, which apply to all masters. A field that is given twice for one master (in its URL
// and beside it) is an error.

import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { MasterAddress, TlsOptions } from '../../redis/address.ts';
import { ConfigError, fileError, ValueError } from '../../text/errors.ts';
import { quoted } from '../../text/foreign-text.ts';
import type { Given, Layer } from '../layer.ts';
import type { MasterEntry } from '../schema.ts';
import type { ScalarKey, TlsKey } from '../setting-table.ts';
import { readTextFile } from '../text-file.ts';
import { kinds } from '../values.ts';
import type { Warn } from '../warning.ts';
import { PasswordCommand, PasswordFile, passwordIn } from './password-source.ts';

/** A value, with what an error about it begins with and where its relative paths start. */
export type Field = Pick<Given, 'text' | 'subject' | 'base'>;

/** @throws ConfigError when the file cannot be read */
async function readText({ text: file, base, subject }: Field): Promise<string> {
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

type TlsFields = Readonly<Partial<Record<TlsKey, Field>>>;

/** The fields of an entry `tls:` of a master; `subject` is what errors about it begin with. */
function fieldsOf(entry: MasterEntry['tls'], base: string, subject: string): TlsFields {
  const given = Object.entries(entry ?? {}).filter(([, text]) => text !== undefined);
  return Object.fromEntries(
    given.map(([key, text]) => [key, { text: text ?? '', base, subject: `${subject}.${key}` }]),
  );
}

/**
 * What TLS needs, without keys that are not given.
 * @throws ConfigError when a file cannot be read, or does not hold what it should
 */
async function readTls(fields: TlsFields, warn: Warn): Promise<TlsOptions> {
  const { caFile, certFile, keyFile, servername } = fields;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const why = 'only one of certFile and keyFile: a client certificate needs both';
    throw new ConfigError(`${(certFile ?? keyFile)?.subject}: ${why} (add the other)`);
  }
  const [ca, cert, key] = await Promise.all(
    [caFile, certFile, keyFile].map((field) => field && readText(field)),
  );
  if (keyFile !== undefined)
    warnIfExposed(resolve(keyFile.base, keyFile.text), 'private key', warn);
  const { isAuthority, isCertificate, isKey, isPair } = await import('./pem.ts');
  const refuse = (field: Field | undefined, why: string) => {
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
    ...(servername === undefined
      ? {}
      : { servername: notEmpty(servername.text, servername.subject) }),
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
  const first = (key: ScalarKey) => layers.find((values) => values.has(key))?.get(key);
  const user = first('username');
  const values = layers.find((one) => secretKeys.some((key) => one.has(key)));
  const given = {
    password: values?.get('password'),
    passwordFile: values?.get('passwordFile'),
    passwordCommand: values?.get('passwordCommand'),
    passwordTtl: first('passwordTtl'),
  };
  const own = await readTls(file.tls, warn);
  const [variable] = Object.values(environment.tls);
  const shared = variable ? await readTls({ ...file.tls, ...environment.tls }, warn) : own;
  const tls = variable ?? Object.values(file.tls)[0];
  const sources = Object.entries({ username: user, ...given, tls }).flatMap(([key, place]) =>
    place === undefined ? [] : [[key, place.source]],
  );
  return {
    ...(user === undefined ? {} : { username: notEmpty(user.text, user.subject) }),
    ...(await readSecret(given, warn)),
    tls: own,
    sharedTls: shared,
    sources: Object.fromEntries(sources),
  };
}

/**
 * The address with the entry's own credentials and then the defaults filled in.
 * @throws ConfigError
 */
export async function logIn(
  address: MasterAddress,
  entry: MasterEntry,
  standard: DefaultLogin,
  base: string,
  warn: Warn,
  subject: string,
): Promise<MasterAddress> {
  const username =
    entry.username === undefined ? undefined : notEmpty(entry.username, `${subject}.username`);
  const field = (key: (typeof secretKeys)[number] | 'passwordTtl') =>
    entry[key] === undefined
      ? undefined
      : { text: String(entry[key]), base, subject: `${subject}.${key}` };
  const own = await readSecret(
    {
      password: field('password'),
      passwordFile: field('passwordFile'),
      passwordCommand: field('passwordCommand'),
      passwordTtl: field('passwordTtl'),
    },
    warn,
  );
  const hasOwn = Object.keys(own).length > 0;
  if (username !== undefined && address.username !== undefined)
    throw twice(`${subject}.username`, 'in the url too');
  if (hasOwn && address.password !== undefined)
    throw twice(`${subject}.password`, 'in the url too');
  const user = username ?? address.username ?? standard.username;
  const inherited = address.password === undefined ? secretOf(standard) : {};
  const secret = hasOwn ? own : inherited;
  const filled = { ...address, ...secret, ...(user === undefined ? {} : { username: user }) };
  if (address.tls === undefined) {
    if (entry.tls === undefined) return filled;
    throw new ConfigError(`${subject}.tls: ${address.name}: not a TLS address (write rediss://)`);
  }
  if (entry.tls === undefined) return { ...filled, tls: standard.sharedTls };
  const tls = await readTls(fieldsOf(entry.tls, base, `${subject}.tls`), warn);
  return { ...filled, tls: { ...standard.tls, ...tls } };
}

function secretOf({ password, passwordSource }: Secret): Secret {
  return {
    ...(password === undefined ? {} : { password }),
    ...(passwordSource === undefined ? {} : { passwordSource }),
  };
}

type SecretFields = Readonly<
  Partial<Record<(typeof secretKeys)[number] | 'passwordTtl', Field | undefined>>
>;

async function readSecret(fields: SecretFields, warn: Warn): Promise<Secret> {
  const { password, passwordFile, passwordCommand, passwordTtl } = fields;
  const [one, other] = secretKeys.filter((key) => fields[key] !== undefined);
  if (one !== undefined && other !== undefined)
    throw twice(fields[one]?.subject ?? one, `as ${other} too`);
  if (password !== undefined) return { password: notEmpty(password.text, password.subject) };
  if (passwordFile !== undefined) return readPasswordFile(passwordFile, warn);
  if (passwordCommand === undefined) return {};
  const ttlMs = passwordTtl === undefined ? null : readTtlOf(passwordTtl);
  const command = notEmpty(passwordCommand.text, passwordCommand.subject);
  return { passwordSource: new PasswordCommand(command, passwordCommand.subject, ttlMs) };
}

function readTtlOf({ text, subject }: Field): number {
  try {
    return kinds.span.parse(text);
  } catch (error) {
    if (error instanceof ValueError) throw new ConfigError(`${subject}: ${error.message}`);
    throw error;
  }
}

async function readPasswordFile({ text: file, base, subject }: Field, warn: Warn): Promise<Secret> {
  const path = resolve(base, file);
  const text = await readText({ text: file, base, subject });
  const status = warnIfExposed(path, 'password', warn);
  const password = notEmpty(passwordIn(text), `${subject}: ${quoted(file)}`);
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
