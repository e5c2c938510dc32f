// The commands of a Redis server that the scripts use, and those of foreign programs of the older
// protocol. *Note:* GETSET and SETNX leave a key without an expiry, whatever it had before.

import type { Reply } from './sim-lua.ts';
import { type SimStore, WrongType } from './sim-store.ts';
import { type Member, SortedSet } from './sorted-set.ts';

type Words = readonly string[];
type Command = (store: SimStore, words: Words) => Reply;

const done: Reply = { ok: 'OK' };

/** Texts and keys of all types. */
const ofKeys: Readonly<Record<string, Command>> = {
  GET: (store, [key = '']) => store.text(key),
  SET: set,
  SETNX(store, [key = '', value = '']) {
    if (store.entry(key)) return 0;
    store.set(key, value, null);
    return 1;
  },
  GETSET(store, [key = '', value = '']) {
    const before = store.text(key);
    store.set(key, value, null);
    return before;
  },
  DEL: (store, keys) => keys.filter((key) => store.remove(key)).length,
  EXISTS: (store, keys) => keys.filter((key) => store.entry(key)).length,
  TYPE: (store, [key = '']) => ({ ok: typeOf(store, key) }),
  PTTL(store, [key = '']) {
    const entry = store.entry(key);
    if (!entry) return -2;
    return entry.expiresAt === null ? -1 : entry.expiresAt - store.clock.now;
  },
  PEXPIRE(store, [key = '', ms = '']) {
    const entry = store.entry(key);
    const forMs = wholeOf(ms);
    if (!entry) return 0;
    if (forMs > 0) store.set(key, entry.value, store.clock.now + forMs);
    else store.remove(key);
    return 1;
  },
  INCRBY: (store, [key = '', by = '']) => increment(store, key, wholeOf(by)),
  DECRBY: (store, [key = '', by = '']) => increment(store, key, -wholeOf(by)),
  TIME: ({ clock }) => clock.time().map(String),
};

const ofSortedSets: Readonly<Record<string, Command>> = {
  ZADD(store, [key = '', ...pairs]) {
    const { trueTime } = store.clock;
    const known = store.sortedSet(key);
    const members = known ?? new SortedSet();
    let count = 0;
    for (let at = 0; at < pairs.length; at += 2)
      if (members.add(pairs[at + 1] as string, scoreOf(pairs[at] as string), trueTime)) count += 1;
    if (!known) store.set(key, members, null);
    return count;
  },
  ZREM(store, [key = '', ...gone]) {
    const members = store.sortedSet(key);
    const count = gone.filter((one) => members?.remove(one)).length;
    if (members?.size === 0) store.remove(key);
    return count;
  },
  ZREMRANGEBYSCORE(store, [key = '', least = '', most = '']) {
    const members = store.sortedSet(key);
    if (!members) return 0;
    const gone = between(members, least, most);
    for (const { member } of gone) members.remove(member);
    if (members.size === 0) store.remove(key);
    return gone.length;
  },
  ZRANGE(store, [key = '', first = '', last = '', ...options]) {
    const members = store.sortedSet(key)?.members ?? [];
    return told(sliceOf(members, wholeOf(first), wholeOf(last)), options);
  },
  ZRANGEBYSCORE(store, [key = '', least = '', most = '', ...options]) {
    const members = store.sortedSet(key);
    return members ? told(between(members, least, most), options) : [];
  },
  ZSCORE(store, [key = '', member = '']) {
    const known = store.sortedSet(key)?.get(member);
    return known ? textOf(known.score) : null;
  },
  ZRANK(store, [key = '', member = '']) {
    const rank = store.sortedSet(key)?.rankOf(member) ?? -1;
    return rank < 0 ? null : rank;
  },
};

const ofHashesAndLists: Readonly<Record<string, Command>> = {
  HSET(store, [key = '', ...pairs]) {
    const known = store.hash(key);
    const fields = known ?? new Map<string, string>();
    const before = fields.size;
    for (let at = 0; at < pairs.length; at += 2)
      fields.set(pairs[at] as string, pairs[at + 1] as string);
    if (!known) store.set(key, fields, null);
    return fields.size - before;
  },
  HGET: (store, [key = '', field = '']) => store.hash(key)?.get(field) ?? null,
  HGETALL: (store, [key = '']) => [...(store.hash(key) ?? [])].flat(),
  HLEN: (store, [key = '']) => store.hash(key)?.size ?? 0,
  HDEL(store, [key = '', ...gone]) {
    const fields = store.hash(key);
    const count = gone.filter((field) => fields?.delete(field)).length;
    if (fields?.size === 0) store.remove(key);
    return count;
  },
  LPUSH(store, [key = '', ...items]) {
    const known = store.list(key);
    const list = known ?? [];
    list.push(...items);
    if (!known) store.set(key, list, null);
    return list.length;
  },
  RPOP(store, [key = '']) {
    const list = store.list(key);
    const item = list?.shift() ?? null;
    if (list?.length === 0) store.remove(key);
    return item;
  },
  LRANGE(store, [key = '', first = '', last = '']) {
    const list = store.list(key)?.toReversed() ?? [];
    return sliceOf(list, wholeOf(first), wholeOf(last));
  },
};

const commands = new Map(
  [ofKeys, ofSortedSets, ofHashesAndLists].flatMap((some) => Object.entries(some)),
);

export const commandNames = [...commands.keys()];

/** Executes one of them; an error is a reply, too. */
export function runCommand(store: SimStore, [name = '', ...words]: Words): Reply {
  const command = commands.get(name);
  if (command === undefined) return { err: `ERR unknown command '${name}'` };
  try {
    return command(store, words);
  } catch (error) {
    if (error instanceof WrongType || error instanceof Refused) return { err: error.message };
    throw error;
  }
}

class Refused extends Error {}

function set(store: SimStore, [key = '', value = '', ...options]: Words): Reply {
  let [expiresAt, mustBeNew]: [number | null, boolean] = [null, false];
  for (let at = 0; at < options.length; at += 1) {
    const option = options[at];
    if (option === 'NX') {
      mustBeNew = true;
    } else if (option === 'PX' || option === 'EX') {
      at += 1;
      const count = wholeOf(options[at] ?? '');
      if (count <= 0) throw new Refused("ERR invalid expire time in 'set' command");
      expiresAt = store.clock.now + count * (option === 'EX' ? 1_000 : 1);
    } else {
      throw new Refused('ERR syntax error');
    }
  }
  if (mustBeNew && store.entry(key)) return null;
  store.set(key, value, expiresAt);
  return done;
}

function increment(store: SimStore, key: string, by: number): number {
  const sum = wholeOf(store.text(key) ?? '0') + by;
  store.set(key, String(sum), store.entry(key)?.expiresAt ?? null);
  return sum;
}

function typeOf(store: SimStore, key: string): string {
  const value = store.entry(key)?.value;
  if (value === undefined) return 'none';
  if (value instanceof SortedSet) return 'zset';
  if (value instanceof Map) return 'hash';
  return typeof value === 'string' ? 'string' : 'list';
}

function wholeOf(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new Refused('ERR value is not an integer or out of range');
  return Number(text);
}

function scoreOf(text: string): number {
  if (text === '-inf') return Number.NEGATIVE_INFINITY;
  if (text === '+inf') return Number.POSITIVE_INFINITY;
  const score = Number(text);
  if (Number.isNaN(score) || text === '') throw new Refused('ERR value is not a valid float');
  return score;
}

function textOf(score: number): string {
  return String(score).replace('Infinity', 'inf');
}

/** Members by score; a bound that begins with `(` is not among them. */
function between({ members }: SortedSet, least: string, most: string): readonly Member[] {
  const [low, high] = [scoreOf(least.replace('(', '')), scoreOf(most.replace('(', ''))];
  const [isOpenBelow, isOpenAbove] = [least.startsWith('('), most.startsWith('(')];
  return members.filter(
    ({ score }) =>
      (isOpenBelow ? score > low : score >= low) && (isOpenAbove ? score < high : score <= high),
  );
}

/** Negative numbers count from the end. */
function sliceOf<Item>(items: readonly Item[], first: number, last: number): readonly Item[] {
  const at = (index: number) => (index < 0 ? items.length + index : index);
  return items.slice(Math.max(0, at(first)), Math.max(0, at(last) + 1));
}

function told(members: readonly Member[], options: Words): string[] {
  const limit = options.indexOf('LIMIT');
  const [from, count] = limit < 0 ? [0, members.length] : options.slice(limit + 1).map(Number);
  const some = members.slice(from, (from as number) + (count as number));
  return options.includes('WITHSCORES')
    ? some.flatMap(({ member, score }) => [member, textOf(score)])
    : some.map(({ member }) => member);
}
