// The keys of a lock on a master: its own key and beside it, in the same cluster slot, the counter
// of its fence, its queue, its waiters' signs of life, its holders where there are several, and its
// history and its freeze.
// *Note:* the prefix may be empty, and then every key of the database looks like a lock.

const helperEnding = /\}:(fence|queue|waiters|holders|owner|promotion|mark|freeze|(\w+:)?history)$/;

/**
 * Whether the key of a resource of this name could be a key beside the lock of another one: with an
 * empty prefix, or with one that ends as the other name begins.
 */
export function looksLikeHelper(resource: string): boolean {
  return helperEnding.test(resource);
}

/** Of a lock: the key, the counter, the queue, the signs of life, the holders. */
export function keysOf(prefix: string, resource: string): string[] {
  const key = prefix + resource;
  return [key, `{${key}}:fence`, `{${key}}:queue`, `{${key}}:waiters`, `{${key}}:holders`];
}

const typeOfHelper: Readonly<Record<string, string>> = {
  queue: 'zset',
  waiters: 'zset',
  holders: 'zset',
  mark: 'hash',
  'runs:history': 'list',
  'facts:history': 'hash',
  'names:history': 'zset',
};

/** The type that the scripts give to one of their keys. */
export function typeOfKey(key: string): string {
  const [, helper = ''] = /^\{.*\}:((\w+:)?\w+)$/s.exec(key) ?? [];
  return typeOfHelper[helper] ?? 'string';
}

/** The key that names the owner, beside a key that holds only a time. */
export function ownerKeyOf(prefix: string, resource: string): string {
  return `{${prefix}${resource}}:owner`;
}

/** Tells when a promoted server was first seen, one for all locks under the prefix. */
export function promotionKeyOf(prefix: string): string {
  return `{${prefix}}:promotion`;
}

/** The mark of the data set of a server, one for all locks under the prefix: scripts/server.lua. */
export function markKeyOf(prefix: string): string {
  return `{${prefix}}:mark`;
}

/** The freeze, which bars new holders: see lock/freeze.ts. */
export function freezeKeyOf(prefix: string, resource: string): string {
  return `{${prefix}${resource}}:freeze`;
}

/** The pattern for SCAN of the freezes of locks whose names match `pattern`. */
export function freezesOf(prefix: string, pattern: string): string {
  return `{${patternOf(prefix, pattern)}}:freeze`;
}

/** The resource whose freeze a key is; null for any other key. */
export function freezeResourceOf(prefix: string, key: string): string | null {
  const [start, end] = [`{${prefix}`, '}:freeze'];
  return key.startsWith(start) && key.endsWith(end) ? key.slice(start.length, -end.length) : null;
}

/** The list of lines and the hash of facts of a history: see scripts/history.lua. */
export function historyKeysOf(prefix: string, resource: string): [string, string] {
  const key = `{${prefix}${resource}}`;
  return [`${key}:runs:history`, `${key}:facts:history`];
}

/** What the keys begin with in which the masters count and order all histories of a prefix. */
export function historyIndexOf(prefix: string): string {
  return `{${prefix}}`;
}

/** The sorted set of all keys of locks that have a history. */
export function historyNamesOf(prefix: string): string {
  return `${historyIndexOf(prefix)}:names:history`;
}

/** The counter of the size of all histories. */
export function historySizeOf(prefix: string): string {
  return `${historyIndexOf(prefix)}:size:history`;
}

/** The start of the names of the channels for wake-ups; each ends with the id of a waiter. */
export function channelsOf(prefix: string, resource: string): string {
  return `{${prefix}${resource}}:wake:`;
}

/** The resource that a key with this prefix locks; null for a key beside a lock. */
export function resourceOf(prefix: string, key: string): string | null {
  return key.startsWith(prefix) && !(key.startsWith('{') && helperEnding.test(key))
    ? key.slice(prefix.length)
    : null;
}

/** The pattern for SCAN of the locks whose names match `pattern`, a glob as in KEYS. */
export function patternOf(prefix: string, pattern: string): string {
  return prefix.replace(/[\\*?[\]]/g, '\\$&') + pattern;
}
