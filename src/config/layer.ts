// What one source of settings gives: the command line, the environment, or a file; and the errors
// about it.

import { ConfigError, UsageError } from '../text/errors.ts';
import type { LoginKey, ScalarKey, TlsKey } from './setting-table.ts';

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

export type LoginGiven = Readonly<Partial<Record<LoginKey, Given>>>;
export type TlsGiven = Readonly<Partial<Record<TlsKey, Given>>>;

/** A master, with what is given for it alone. */
export interface MasterGiven extends Given {
  readonly login: LoginGiven;
  readonly tls: TlsGiven;
}

export interface Layer {
  readonly name: LayerName;
  readonly values: ReadonlyMap<ScalarKey, Given>;
  /** For all masters. */
  readonly tls: TlsGiven;
  readonly masters: readonly MasterGiven[];
  /** `flag --master`, `environment REDLOCK_MASTERS`, `/etc/redlockrc:3`. */
  readonly mastersSource: string;
}

/** Masters that are URLs only. */
export function urlMasters(urls: readonly string[], layer: LayerName, subject: string) {
  const place = { layer, source: `${layer} ${subject}`, subject, base: '' };
  return urls.map((text): MasterGiven => ({ ...place, text, login: {}, tls: {} }));
}

/** That of a file without settings. */
export const noLayer: Layer = {
  name: 'file',
  values: new Map(),
  tls: {},
  masters: [],
  mastersSource: '',
};

/** The error for a bad value: exit 64 for a flag, 78 for environment and file. */
export function errorWith({ layer, subject }: Place, why: string): UsageError | ConfigError {
  const message = `${subject}: ${why}`;
  return layer === 'flag' ? new UsageError(message) : new ConfigError(message);
}

/**
 * The error for values that contradict one another, with the place of each: exit 64 when one is on
 * the command line, else 78. `places`: null for a default.
 */
export function conflictOf(places: readonly (Place | null)[], why: string) {
  const given = places.filter((place) => place !== null);
  const layer = given.some((place) => place.layer === 'flag') ? 'flag' : 'file';
  return errorWith({ layer, subject: given.map((place) => place.subject).join(': with ') }, why);
}
