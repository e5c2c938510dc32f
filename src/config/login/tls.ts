// The certificates of TLS, read from the files that the configuration or the environment names, and
// checked before a connection needs them.

import type { TlsOptions } from '../../redis/address.ts';
import { ConfigError } from '../../text/errors.ts';
import { quoted } from '../../text/quote.ts';
import type { TlsKey } from '../keys.ts';
import type { TlsEntry } from '../schema.ts';
import { type Field, notEmpty, readText } from './field.ts';

export type TlsFields = Readonly<Partial<Record<TlsKey, Field>>>;

/** The fields of an entry `tls:`; `subject` is what errors about it begin with. */
export function fieldsOf(entry: TlsEntry | undefined, base: string, subject: string): TlsFields {
  const given = Object.entries(entry ?? {}).filter(([, text]) => text !== undefined);
  return Object.fromEntries(
    given.map(([key, text]) => [key, { text: text ?? '', base, subject: `${subject}.${key}` }]),
  );
}

/**
 * What TLS needs, without keys that are not given.
 * @throws ConfigError when a file cannot be read, or does not hold what it should
 */
export async function readTls(fields: TlsFields, subject: string): Promise<TlsOptions> {
  const { caFile, certFile, keyFile, servername } = fields;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const why = 'only one of certFile and keyFile: a client certificate needs both';
    throw new ConfigError(`${subject}: ${why} (add the other)`);
  }
  const [ca, cert, key] = await Promise.all(
    [caFile, certFile, keyFile].map((field) => field && readText(field)),
  );
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
