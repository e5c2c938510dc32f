// Reads users, passwords and certificates for the masters from the places that the configuration
// names. The fields of one master win over those at the top level, which apply to all masters. A
// field that is given twice for one master (in its URL and beside it) is an error.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { MasterAddress, TlsOptions } from '../redis/address.ts';
import { ConfigError, fileError } from '../text/errors.ts';
import { quoted } from '../text/quote.ts';
import type { Layer } from './keys.ts';
import type { MasterEntry, TlsEntry } from './schema.ts';
import { readTextFile } from './text-file.ts';

/** The login of masters that have none of their own. */
export interface DefaultLogin {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: TlsOptions;
  /** Key to source, for the keys that were given. */
  readonly sources: Readonly<Record<string, string>>;
}

/** Takes a warning: one line about a setting that works, but should be corrected. */
export type Warn = (line: string) => void;

/**
 * The login at the top level of the configuration.
 * @throws ConfigError when a file cannot be read, or when password and passwordFile come from the
 * same layer
 */
export async function readDefaultLogin(
  layers: readonly Layer[],
  tls: { readonly entry: TlsEntry; readonly subject: string } | null,
  base: string,
  warn: Warn,
): Promise<DefaultLogin> {
  const user = layers.map((layer) => layer.get('username')).find((given) => given !== undefined);
  const secrets = layers.map((layer) => ({
    literal: layer.get('password'),
    file: layer.get('passwordFile'),
  }));
  const secret = secrets.find(({ literal, file }) => literal !== undefined || file !== undefined);
  const subject = secret?.literal?.subject ?? secret?.file?.subject ?? 'password';
  const folder = secret?.file?.base ?? base;
  const password = await readPassword(
    secret?.literal?.text,
    secret?.file?.text,
    folder,
    warn,
    subject,
    secret?.file?.subject,
  );
  return {
    ...(user === undefined ? {} : { username: notEmpty(user.text, user.subject) }),
    ...(password === undefined ? {} : { password }),
    ...(tls === null ? {} : { tls: await readTls(tls.entry, base, tls.subject) }),
    sources: {
      ...(user === undefined ? {} : { username: user.source }),
      ...(secret?.literal === undefined ? {} : { password: secret.literal.source }),
      ...(secret?.file === undefined ? {} : { passwordFile: secret.file.source }),
      ...(tls === null ? {} : { tls: tls.subject.replace(/: tls$/, '') }),
    },
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
  const password = await readPassword(
    entry.password,
    entry.passwordFile,
    base,
    warn,
    `${subject}.password`,
    `${subject}.passwordFile`,
  );
  if (username !== undefined && address.username !== undefined)
    throw twice(`${subject}.username`, 'in the url too');
  if (password !== undefined && address.password !== undefined)
    throw twice(`${subject}.password`, 'in the url too');
  const filled = { ...pick(standard), ...address, ...pick({ username, password }) };
  if (address.tls === undefined) {
    if (entry.tls === undefined) return filled;
    throw new ConfigError(`${subject}.tls: ${address.name}: not a TLS address (write rediss://)`);
  }
  const own = entry.tls === undefined ? {} : await readTls(entry.tls, base, `${subject}.tls`);
  return { ...filled, tls: { ...standard.tls, ...own } };
}

function pick(login: { username?: string | undefined; password?: string | undefined }) {
  return {
    ...(login.username === undefined ? {} : { username: login.username }),
    ...(login.password === undefined ? {} : { password: login.password }),
  };
}

async function readPassword(
  literal: string | undefined,
  file: string | undefined,
  base: string,
  warn: Warn,
  subject: string,
  fileSubject = subject,
): Promise<string | undefined> {
  if (literal !== undefined && file !== undefined) throw twice(subject, 'as passwordFile too');
  if (literal !== undefined) return notEmpty(literal, subject);
  if (file === undefined) return undefined;
  const text = await readText(file, base, fileSubject);
  const path = resolve(base, file);
  // Read permission for a group may be intended, as for the secrets of a container; for all users
  // it is a mistake.
  if ((statSync(path).mode & 0o004) !== 0)
    warn(`${path}: holds a password and is readable by others (chmod 600 it)`);
  return notEmpty(text.replace(/\r?\n$/, ''), `${fileSubject}: ${quoted(file)}`);
}

async function readTls(entry: TlsEntry, base: string, subject: string): Promise<TlsOptions> {
  const { caFile, certFile, keyFile, servername } = entry;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const why = 'only one of certFile and keyFile: a client certificate needs both';
    throw new ConfigError(`${subject}: ${why} (add the other)`);
  }
  const [ca, cert, key] = await Promise.all([
    caFile === undefined ? undefined : readText(caFile, base, `${subject}.caFile`),
    certFile === undefined ? undefined : readText(certFile, base, `${subject}.certFile`),
    keyFile === undefined ? undefined : readText(keyFile, base, `${subject}.keyFile`),
  ]);
  const { isAuthority, isCertificate, isKey, isPair } = await import('./pem.ts');
  const refuse = (name: keyof TlsEntry, why: string) => {
    throw new ConfigError(`${subject}.${name}: ${quoted(entry[name] ?? '')}: ${why}`);
  };
  if (ca !== undefined && !isAuthority(ca)) {
    refuse('caFile', 'holds no certificate (name the PEM file of the authority)');
  }
  if (cert !== undefined && key !== undefined) {
    if (!isCertificate(cert)) refuse('certFile', 'holds no certificate (name a PEM file)');
    if (!isKey(key))
      refuse('keyFile', 'holds no private key without a passphrase (name a PEM file)');
    if (!isPair(cert, key))
      refuse('keyFile', 'does not belong to certFile (name the key of that certificate)');
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined
      ? {}
      : { servername: notEmpty(servername, `${subject}.servername`) }),
  };
}

async function readText(file: string, base: string, subject: string): Promise<string> {
  try {
    return readTextFile(resolve(base, file)).toString();
  } catch (error) {
    throw new ConfigError(
      `${subject}: ${quoted(file)}: ${fileError(error)} (paths start from ${base})`,
    );
  }
}

function notEmpty(text: string, subject: string): string {
  if (text === '') throw new ConfigError(`${subject}: empty (leave it out, or fill it in)`);
  return text;
}

function twice(subject: string, where: string): ConfigError {
  return new ConfigError(`${subject}: given ${where} (keep one)`);
}
