// The keys of a lock on a master: its own and, beside it in the same cluster slot, those of its
// fence, its queue, its holders where there are several, its history and its freeze.
// *Note:* the prefix may be empty, and then every key of the database looks like a lock.

import { quoted } from '../text/foreign-text.ts';

/** What is beside a key, by the type that the scripts give to it. */
const typeOfHelper = {
  fence: 'string',
  queue: 'zset',
  /** The last sign of life of each waiter. */
  waiters: 'zset',
  holders: 'zset',
  /** Whose it is, where the key holds only a time. */
  owner: 'string',
  freeze: 'string',
  /** The lines and the facts of a history: scripts/history.lua. */
  'runs:history': 'list',
  'facts:history': 'hash',
  /** Beside a prefix, for all locks under it: scripts/server.lua and scripts/history.lua. */
  promotion: 'string',
  mark: 'hash',
  'names:history': 'zset',
  'size:history': 'string',
} as const;

export type Helper = keyof typeof typeOfHelper;

/**
 * What the key of a lock is to the programs that share it. redlock: with one master, also that of
 * any program that does SET NX PX and compares before DEL. setnx, setnx-ms: it holds the time at
 * which the lock ends, in seconds or in milliseconds.
 */
export const protocols = ['redlock', 'setnx', 'setnx-ms'] as const;
export type Protocol = (typeof protocols)[number];

/** Those of the table, and histories of any kind: other versions may have more. */
const helperEnding = new RegExp(`\\}:(${Object.keys(typeOfHelper).join('|')}|(\\w+:)?history)$`);

/** The key beside this one, or beside a prefix. */
export function beside(key: string, helper: Helper): string {
  return `{${key}}:${helper}`;
}

/** The type that the scripts give to one of their keys. */
export function typeOfKey(key: string): string {
  const [, helper = ''] = /^\{.*\}:((\w+:)?\w+)$/s.exec(key) ?? [];
  return (typeOfHelper as Readonly<Record<string, string>>)[helper] ?? 'string';
}

/** The channel on which this waiter or holder of a lock is woken. */
export function channelOf(key: string, id: string): string {
  return `{${key}}:wake:${id}`;
}

/** The resource that a key with this prefix locks; null for a key beside a lock. */
export function resourceOf(prefix: string, key: string): string | null {
  return key.startsWith(prefix) && !(key.startsWith('{') && helperEnding.test(key))
    ? key.slice(prefix.length)
    : null;
}

/** The resource whose freeze a key is; null for any other key. */
export function freezeResourceOf(prefix: string, key: string): string | null {
  const [start, end] = [`{${prefix}`, '}:freeze'];
  return key.startsWith(start) && key.endsWith(end) ? key.slice(start.length, -end.length) : null;
}

/** The pattern for SCAN of the locks whose names match `pattern`, a glob as in KEYS. */
export function patternOf(prefix: string, pattern: string): string {
  return prefix.replace(/[\\*?[\]]/g, '\\$&') + pattern;
}

const maxNameBytes = 4096;
const maxNames = 100;

/**
 * What is wrong with these names of locks, of the command line or of a program; null: nothing. A
 * name may be nearly any text, but not one that could be a key beside the lock of another name:
 * with an empty prefix, or with one that ends as the other name begins.
 */
export function mistakeInNames(names: readonly string[]): string | null {
  for (const name of names) {
    if (name === '') return '"": empty (give the lock a name)';
    const why = 'is called like what the masters keep beside a lock (take another name)';
    if (helperEnding.test(name)) return `${quoted(name)}: ${why}`;
    const bytes = Buffer.byteLength(name);
    if (bytes > maxNameBytes)
      return `${quoted(name)}: ${bytes} bytes long (at most ${maxNameBytes})`;
  }
  if (names.length > maxNames) return `${names.length} names (at most ${maxNames})`;
  const twice = names.find((name, at) => names.indexOf(name) < at);
  return twice === undefined ? null : `${quoted(twice)}: given twice (name each lock once)`;
}
