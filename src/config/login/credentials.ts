// Reads users, passwords and certificates for the masters from the places that the configuration
// names, and checks them before a connection needs them. The fields of one master win over those at
// the top level, which apply to all masters. A field that is given twice for one master (in its URL
// and beside it) is an error.

import { resolve } from 'node:path';
import type { MasterAddress, TlsOptions } from '../../redis/address.ts';
import { ConfigError, fileError } from '../../text/errors.ts';
import { quoted } from '../../text/foreign-text.ts';
import {
  type ConfigWarning,
  type Given,
  type GivenValues,
  type Layer,
  type MasterGiven,
  parseGiven,
} from '../layer.ts';
import { tlsKeys } from '../setting-table.ts';
import { isReadableByOthers, type ReadFile, readTextFile } from '../text-file.ts';
import { kinds } from '../values.ts';
import { PasswordCommand, PasswordFile, passwordIn } from './password-source.ts';

/** Takes a warning, where a setting is read. */
type Warn = (warning: ConfigWarning) => void;

/** The user, and a password, or where it comes from at each connection, or both. */
type Login = Pick<MasterAddress, 'username' | 'password' | 'passwordSource'>;

/** The login and TLS of masters that have none of their own. */
export interface DefaultLogin {
  readonly login: Login;
  /** For masters with a `tls` of their own, which adds to it. */
  readonly tls: TlsOptions;
  /** For the others: with the variables of the environment. */
  readonly sharedTls: TlsOptions;
}

const secretKeys = ['password', 'passwordFile', 'passwordCommand'] as const;

/**
 * The login at the top level of the configuration.
 * @throws ConfigError when a file cannot be read, or when two of password, passwordFile and
 * passwordCommand come from the same layer
 */
export async function readDefaultLogin(
  { values: environment }: Layer,
  { values: file }: Layer,
  warn: Warn,
): Promise<DefaultLogin> {
  // The secrets of the nearer layer win together.
  const nearest = secretKeys.some((key) => environment[key] !== undefined) ? environment : file;
  const secrets = Object.fromEntries(secretKeys.map((key) => [key, nearest[key]]));
  const tls = await readTls(file, warn);
  const hasVariable = tlsKeys.some((key) => environment[key] !== undefined);
  return {
    login: readLogin({ ...file, ...environment, ...secrets }, warn),
    tls,
    sharedTls: hasVariable ? await readTls({ ...file, ...environment }, warn) : tls,
  };
}

/**
 * The address with the credentials of the master itself and then the defaults filled in.
 * @throws ConfigError
 */
export async function withLogin(
  address: MasterAddress,
  { subject, own }: MasterGiven,
  byDefault: DefaultLogin,
  warn: Warn,
): Promise<MasterAddress> {
  const { username, ...secret } = readLogin(own, warn);
  const hasOwn = secretKeys.some((key) => own[key] !== undefined);
  if (username !== undefined && address.username !== undefined)
    throw twice(`${subject}.username`, 'in the url too');
  if (hasOwn && address.password !== undefined)
    throw twice(`${subject}.password`, 'in the url too');
  const { username: defaultUser, ...defaultSecret } = byDefault.login;
  const user = username ?? address.username ?? defaultUser;
  const filled = {
    ...address,
    ...(hasOwn || address.password !== undefined ? secret : defaultSecret),
    ...(user === undefined ? {} : { username: user }),
  };
  const hasTls = tlsKeys.some((key) => own[key] !== undefined);
  if (address.tls === undefined) {
    if (!hasTls) return filled;
    throw new ConfigError(`${subject}.tls: ${address.name}: not a TLS address (write rediss://)`);
  }
  if (!hasTls) return { ...filled, tls: byDefault.sharedTls };
  return { ...filled, tls: { ...byDefault.tls, ...(await readTls(own, warn)) } };
}

function readLogin(given: GivenValues, warn: Warn): Login {
  const { username, password, passwordFile, passwordCommand, passwordTtl } = given;
  const user = username === undefined ? {} : { username: textOf(username) };
  const [one, other] = secretKeys.filter((key) => given[key] !== undefined);
  if (one !== undefined && other !== undefined)
    throw twice(given[one]?.subject ?? one, `as ${other} too`);
  if (password !== undefined) return { ...user, password: textOf(password) };
  if (passwordFile !== undefined) return { ...user, ...readPasswordFile(passwordFile, warn) };
  if (passwordCommand === undefined) return user;
  const ttlMs = passwordTtl === undefined ? null : parseGiven(passwordTtl, kinds.span.parse);
  const command = textOf(passwordCommand);
  return { ...user, passwordSource: new PasswordCommand(command, passwordCommand.subject, ttlMs) };
}

function readPasswordFile(given: Given, warn: Warn): Login {
  const { bytes, found } = readGivenFile(given, 'password', warn);
  const password = passwordIn(bytes.toString());
  checkFilled(password, `${given.subject}: ${quoted(given.text)}`);
  // A pipe, as <(...) of a shell is, can be read once only.
  if (!found.isFile()) return { password };
  return { password, passwordSource: new PasswordFile(resolve(given.base, given.text), password) };
}

/**
 * What TLS needs, without keys that are not given.
 * @throws ConfigError when a file cannot be read, or does not hold what it should
 */
async function readTls(
  { caFile, certFile, keyFile, servername }: GivenValues,
  warn: Warn,
): Promise<TlsOptions> {
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const why = 'only one of certFile and keyFile: a client certificate needs both';
    throw new ConfigError(`${(certFile ?? keyFile)?.subject}: ${why} (add the other)`);
  }
  const read = (file: Given | undefined, secret: string | null) =>
    file && readGivenFile(file, secret, warn).bytes.toString();
  const [ca, cert, key] = [read(caFile, null), read(certFile, null), read(keyFile, 'private key')];
  const refuse = ({ subject, text }: Given, why: string) => {
    throw new ConfigError(`${subject}: ${quoted(text)}: ${why}`);
  };
  if (ca !== undefined || cert !== undefined) {
    const { isAccepted, isAuthority } = await import('./pem.ts');
    if (caFile && !isAuthority(ca))
      refuse(caFile, 'holds no certificate (name the PEM file of the authority)');
    if (certFile && !isAccepted({ cert }))
      refuse(certFile, 'holds no certificate (name a PEM file)');
    if (keyFile && !isAccepted({ key }))
      refuse(keyFile, 'holds no private key without a passphrase (name a PEM file)');
    if (keyFile && !isAccepted({ cert, key }))
      refuse(keyFile, 'does not belong to certFile (name the key of that certificate)');
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername: textOf(servername) }),
  };
}

/** `secret`: what other users must not read; null: nothing. @throws ConfigError */
function readGivenFile(given: Given, secret: string | null, warn: Warn): ReadFile {
  const { text, base, subject } = given;
  const file = resolve(base, text);
  try {
    const read = readTextFile(file);
    if (secret !== null && isReadableByOthers(read.found.mode)) {
      const message = `holds a ${secret} and is readable by others`;
      warn({ kind: 'exposed-secret', file, message, advice: 'chmod 600 it' });
    }
    return read;
  } catch (error) {
    const why = `${fileError(error, 'read')} (paths start from ${base})`;
    throw new ConfigError(`${subject}: ${quoted(text)}: ${why}`);
  }
}

/** @throws ConfigError where there is none */
function textOf({ text, subject }: Given): string {
  checkFilled(text, subject);
  return text;
}

function checkFilled(text: string, subject: string): void {
  if (text === '') throw new ConfigError(`${subject}: empty (leave it out, or fill it in)`);
}

function twice(subject: string, where: string): ConfigError {
  return new ConfigError(`${subject}: given ${where} (keep one)`);
}
