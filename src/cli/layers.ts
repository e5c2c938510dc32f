// Flag beats environment beats file beats default, for one value at a time, remembering where it came from. Masters have their
// own rules: masters.ts. The surprise: a bad value is an error also in a layer that another layer hides, so that a typo in the
// environment does not wait for the day when the flag is left out.

import { environmentName, keyRow, type ScalarKey } from './key-table.ts';
import { ConfigError, UsageError, ValueError } from './trouble.ts';

export type LayerName = 'flag' | 'environment' | 'file';

/** A text that one layer gives for one key. */
export interface Given {
  readonly text: string;
  readonly layer: LayerName;
  /** For people who ask where a value came from: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`. */
  readonly source: string;
  /** What an error message begins with: `--ttl`, `REDLOCK_TTL`, `/etc/redlockrc:3: ttl`. */
  readonly subject: string;
  /** The directory that relative paths start from. */
  readonly base: string;
}

export type Layer = ReadonlyMap<ScalarKey, Given>;

/** A value that won, and where it came from; `layer` is null for a default. */
export interface Chosen<Value> {
  readonly value: Value;
  readonly layer: LayerName | null;
  readonly source: string;
  readonly given: Given | null;
}

/**
 * Reads a key in all layers, given in order of precedence; null when no layer and no default has it.
 * @throws UsageError for a bad flag, ConfigError for a bad value in the environment or the file
 */
export function choose<Value>(
  layers: readonly Layer[],
  key: ScalarKey,
  read: (text: string) => Value,
): Chosen<Value> | null {
  const found = layers
    .map((layer) => layer.get(key))
    .filter((given) => given !== undefined)
    .map((given) => ({ value: readGiven(given, read), layer: given.layer, source: given.source, given }));
  if (found[0] !== undefined) return found[0];
  const standard = keyRow(key).default;
  return standard === null ? null : { value: read(standard), layer: null, source: 'default', given: null };
}

/** The layer of the environment: the twins of all scalar keys that are set and not empty. */
export function environmentLayer(keys: readonly ScalarKey[], environment: NodeJS.ProcessEnv, cwd: string): Layer {
  const layer = new Map<ScalarKey, Given>();
  for (const key of keys) {
    const subject = environmentName(key);
    const text = environment[subject];
    if (text) layer.set(key, { text, layer: 'environment', source: `environment ${subject}`, subject, base: cwd });
  }
  return layer;
}

/** The error for trouble with a given value: exit 64 for a flag, 78 for environment and file. */
export function troubleWith(given: { layer: LayerName; subject: string }, why: string): UsageError | ConfigError {
  const message = `${given.subject}: ${why}`;
  return given.layer === 'flag' ? new UsageError(message) : new ConfigError(message);
}

function readGiven<Value>(given: Given, read: (text: string) => Value): Value {
  try {
    return read(given.text);
  } catch (error) {
    if (error instanceof ValueError) throw troubleWith(given, error.message);
    throw error;
  }
}
