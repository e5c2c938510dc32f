// What one source of settings gives: the command line, the environment, or a file; the errors about
// it, and the warnings about what works, but should be corrected.

import { ConfigError, UsageError, ValueError } from '../text/errors.ts';
import type { ScalarKey, TlsKey } from './setting-table.ts';

type LayerName = 'flag' | 'environment' | 'file';

/** A text that one layer gives for one key. */
export interface Given {
  readonly text: string;
  readonly layer: LayerName;
  /** Where it came from: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`. */
  readonly source: string;
  /** What an error message begins with: `--ttl`, `REDLOCK_TTL`, `/etc/redlockrc:3: ttl`. */
  readonly subject: string;
  /** The directory that relative paths start from. */
  readonly base: string;
}

/** Where a value was given, as far as a message about it needs that. */
export type Place = Pick<Given, 'layer' | 'subject'>;

export type GivenValues = Readonly<Partial<Record<ScalarKey | TlsKey, Given | undefined>>>;

/** The URL of a master, with the login and the TLS keys of this master alone. */
export interface MasterGiven extends Given {
  readonly own: GivenValues;
}

export interface Layer {
  readonly name: LayerName;
  readonly values: GivenValues;
  readonly masters: readonly MasterGiven[];
  /** `flag --master`, `environment REDLOCK_MASTERS`, `/etc/redlockrc:3`. */
  readonly mastersSource: string;
}

/** Masters that are URLs only. */
export function urlMasters(urls: readonly string[], layer: LayerName, subject: string) {
  const place = { layer, source: `${layer} ${subject}`, subject, base: '' };
  return urls.map((text): MasterGiven => ({ ...place, text, own: {} }));
}

/** That of a file without settings. */
export const noLayer: Layer = { name: 'file', values: {}, masters: [], mastersSource: '' };

/** @throws UsageError (64) for a flag, ConfigError (78) for any other layer */
export function parseGiven<Value>(
  given: Given,
  parse: (text: string, base?: string) => Value,
): Value {
  try {
    return parse(given.text, given.base);
  } catch (error) {
    throw error instanceof ValueError ? errorWith(given, error.message) : error;
  }
}

/** The error for a bad value: exit 64 for a flag, 78 for environment and file. */
export function errorWith({ layer, subject }: Place, why: string): UsageError | ConfigError {
  const message = `${subject}: ${why}`;
  return layer === 'flag' ? new UsageError(message) : new ConfigError(message);
}

export interface ConfigWarning {
  /** exposed-secret: other users can read a secret in `file`. even-count: of the masters. */
  readonly kind: 'exposed-secret' | 'even-count';
  /** The path of the file that it is about; null: about no file. */
  readonly file: string | null;
  readonly message: string;
  /** What to do. */
  readonly advice: string;
}

/** One line: `/etc/redlockrc: holds a password and is readable by others (chmod 600 it)`. */
export function warningLine({ file, message, advice }: ConfigWarning): string {
  return `${file === null ? '' : `${file}: `}${message} (${advice})`;
}
