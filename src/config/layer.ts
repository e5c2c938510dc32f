// What one source of settings gives: the command line, the environment, or a file.

import type { ScalarKey } from './setting-table.ts';

export type LayerName = 'flag' | 'environment' | 'file';

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

/** The texts that one source gives. */
export type Layer = ReadonlyMap<ScalarKey, Given>;
