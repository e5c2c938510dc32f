// Which configuration file counts: --config, $REDLOCK_CONFIG, .redlockrc here or in the nearest parent, ~/.redlockrc,
// /etc/redlockrc; the first one wins and is the only one read. The surprise: a place that cannot be looked at is an error, not
// "no file": going on to the next place could mean other masters, and a lock on other masters excludes nobody.

import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readTextFile } from './text-file.ts';
import { ConfigError, fileTrouble, quoted } from './trouble.ts';

export interface SearchPlaces {
  /** The value of --config; null when absent. */
  readonly flag: string | null;
  /** The value of $REDLOCK_CONFIG; empty counts as absent. */
  readonly variable: string | undefined;
  readonly cwd: string;
  /** $HOME; empty counts as absent. */
  readonly home: string | undefined;
  readonly systemFile: string;
}

export interface FoundFile {
  readonly path: string;
  readonly text: string;
  /** Permission bits, as in stat(2). */
  readonly mode: number;
}

/**
 * The text of the file that counts, or null when there is none.
 * @throws ConfigError when a named file cannot be read, or when something unreadable stands in one of the places
 */
export function findConfigFile(places: SearchPlaces): FoundFile | null {
  const named = places.flag ?? (places.variable || null);
  if (named !== null) {
    const subject = places.flag === null ? 'REDLOCK_CONFIG' : '--config';
    const path = resolve(places.cwd, named);
    const file = named === '' ? null : open(path, subject);
    if (file === null) throw new ConfigError(`${subject}: ${quoted(named)}: no such file (name a YAML file)`);
    return file;
  }
  const parents = [places.cwd];
  for (let folder = places.cwd; dirname(folder) !== folder; folder = dirname(folder)) parents.push(dirname(folder));
  const homes = places.home ? [places.home] : [];
  const paths = [...[...parents, ...homes].map((folder) => join(folder, '.redlockrc')), places.systemFile];
  for (const path of paths) {
    const file = open(path, 'config');
    if (file !== null) return file;
  }
  return null;
}

/** Null when nothing is there. */
function open(path: string, subject: string): FoundFile | null {
  try {
    const { mode } = statSync(path);
    const bytes = readTextFile(path);
    return { path, mode, text: decode(bytes, path) };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const why = fileTrouble(error);
    if (why === 'no such file') return null;
    throw new ConfigError(`${subject}: ${path}: ${why} (name a readable YAML file by --config)`);
  }
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(`${path}: not a YAML file: not text in UTF-8`);
  }
}
