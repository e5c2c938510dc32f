// The effects of the scripts of the older protocol on the memory of a simulated server:
// src/redis/scripts/*.setnx.lua in TypeScript. The contract suite runs on this and on real servers.
// The commands of programs without scripts are in sim-commands.ts.

import { told } from './sim-parts.ts';
import type { Reply, SimRedis, Words } from './sim-redis.ts';
import { noteSkip, unnoteSkip } from './sim-skips.ts';

export type SetnxScript = 'acquire.setnx' | 'extend.setnx' | 'release.setnx' | 'look.setnx';

/** How far clocks may differ from the master's. */
const differenceMs = 1_000;

export function runSetnx(
  redis: SimRedis,
  script: SetnxScript,
  keys: readonly string[],
  words: Words,
): Reply {
  const [key = '', noteKey = ''] = keys;
  const value = String(words[0]);
  const [forMs = 0, unitMs = 1] = words.slice(1, 3).map(Number);
  const put = (ms: number) => write(redis, key, noteKey, value, ms, unitMs);
  switch (script) {
    case 'look.setnx':
      return keys.filter((one) => !one.startsWith('{')).map((one) => look(redis, one));
    case 'acquire.setnx':
      return noting(redis, key, words.slice(5), () =>
        acquire(redis, key, noteKey, value, () => put(forMs)),
      );
    case 'extend.setnx':
      return extend(redis, key, noteKey, value, () => put(forMs));
    case 'release.setnx': {
      redis.record(String(keys[0] ?? ''), String(words[3] ?? ''));
      const end = () => {
        if (forMs > 0) put(forMs);
        else for (const one of [key, noteKey]) redis.set(one, null, null);
      };
      return release(redis, key, noteKey, value, end);
    }
  }
}

/**
 * The owner of a key with a time, and until when it is safe, in ms of the server; null: it has no
 * time, or one that is over.
 */
export function shownBy(
  redis: SimRedis,
  key: string,
  mark: string,
): { owner: string; safeUntil: number } | null {
  const endsAt = endOf(mark);
  if (endsAt === null || redis.now > endsAt + differenceMs) return null;
  return { owner: ownerIn(redis.get(noteOf(key)), mark) ?? mark, safeUntil: endsAt - differenceMs };
}

export function isTime(text: string): boolean {
  return endOf(text) !== null;
}

function noting(redis: SimRedis, key: string, words: Words, ask: () => Reply): Reply {
  const reply = ask();
  if (Array.isArray(reply) && reply[0] === 1) unnoteSkip(redis, key, words);
  else noteSkip(redis, key, words);
  return reply;
}

function acquire(
  redis: SimRedis,
  key: string,
  noteKey: string,
  value: string,
  put: () => void,
): Reply {
  const { flaws, now } = redis;
  const mark = redis.get(key);
  if (mark !== null && ownerOf(redis, mark, noteKey) !== value) {
    const refuse = (holder: string, leftMs: number): Reply => [
      0,
      told(holder),
      Math.ceil(leftMs),
      -1,
      ...redis.time(),
      '',
      [],
    ];
    const endsAt = endOf(mark);
    if (endsAt === null) return refuse(mark, redis.remainingMs(key) ?? -1);
    const overAt = flaws.has('time-taken-over-too-soon') ? endsAt : endsAt + differenceMs;
    if (now <= overAt) return refuse(ownerOf(redis, mark, noteKey) ?? mark, overAt - now);
  }
  put();
  return [1, 0];
}

function extend(
  redis: SimRedis,
  key: string,
  noteKey: string,
  value: string,
  put: () => void,
): Reply {
  const mark = redis.get(key);
  if (mark === null) return [-1];
  const isOurs = ownerOf(redis, mark, noteKey) === value;
  if (!isOurs && !redis.flaws.has('time-of-another-extended')) return [0];
  put();
  return [1, ...redis.time(), ''];
}

function release(
  redis: SimRedis,
  key: string,
  noteKey: string,
  value: string,
  end: () => void,
): Reply {
  const mark = redis.get(key);
  if (mark === null) return -1;
  const isOurs = mark === value || ownerOf(redis, mark, noteKey) === value;
  if (!isOurs && !redis.flaws.has('time-of-another-released')) return 0;
  end();
  return 1;
}

/** As sim-look.ts; a time that is over is no lock. */
function look(
  redis: SimRedis,
  key: string,
): [string, string | null, number, null, [], [], null, number] {
  const mark = redis.get(key);
  const endsAt = mark === null ? null : endOf(mark);
  const overAt = endsAt === null ? null : Math.ceil(endsAt + differenceMs - redis.now);
  if (mark === null || (overAt !== null && overAt < 0))
    return ['none', null, -2, null, [], [], null, -2];
  return [
    'string',
    ownerOf(redis, mark, noteOf(key)) ?? mark,
    overAt ?? redis.remainingMs(key) ?? -1,
    null,
    [],
    [],
    null,
    -2,
  ];
}

function write(
  redis: SimRedis,
  key: string,
  noteKey: string,
  value: string,
  ms: number,
  unitMs: number,
): void {
  const { flaws, now } = redis;
  const mark = flaws.has('time-without-the-second')
    ? Math.floor((now + ms) / unitMs)
    : Math.floor(now / unitMs) + Math.ceil((ms + differenceMs) / unitMs) + 1;
  const keepMs = Math.ceil(mark * unitMs - now + differenceMs);
  redis.set(key, String(mark), keepMs);
  redis.set(noteKey, `${mark} ${value}`, keepMs);
}

/** In ms; null for what is no time. */
function endOf(mark: string): number | null {
  if (!/^\d+\.?\d*$/.test(mark)) return null;
  const number = Number(mark);
  return number < 100_000_000_000 ? number * 1_000 : number;
}

function ownerOf(redis: SimRedis, mark: string, noteKey: string): string | null {
  const note = redis.get(noteKey);
  return redis.flaws.has('note-counts-for-any-time')
    ? (note?.replace(/^\S+ /, '') ?? null)
    : ownerIn(note, mark);
}

/** The value that the note names as the owner of this time. */
function ownerIn(note: string | null, mark: string): string | null {
  return note?.startsWith(`${mark} `) ? note.slice(mark.length + 1) : null;
}

function noteOf(key: string): string {
  return `{${key}}:owner`;
}
