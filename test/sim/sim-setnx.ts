// The effects of the scripts of the older protocol on the memory of a simulated server:
// src/redis/scripts/*.setnx.lua in TypeScript. The contract suite runs on this and on real servers.
// The commands of programs without scripts are in sim-commands.ts.

import { endingsOn } from './sim-look.ts';
import { told } from './sim-parts.ts';
import type { Reply, SimRedis, Words } from './sim-redis.ts';
import { recordSkip, removeSkip } from './sim-skips.ts';

export type SetnxScript = 'acquire.setnx' | 'extend.setnx' | 'release.setnx' | 'look.setnx';

/** How far clocks may differ from the master's. */
const differenceMs = 1_000;

export function runSetnx(
  redis: SimRedis,
  script: SetnxScript,
  keys: readonly string[],
  args: Words,
): Reply {
  const [key = '', ownerKey = ''] = keys;
  const value = String(args[0]);
  const [forMs = 0, unitMs = 1] = args.slice(1, 3).map(Number);
  const put = (ms: number) => write(redis, key, ownerKey, value, ms, unitMs);
  switch (script) {
    case 'look.setnx':
      return keys.filter((one) => !one.startsWith('{')).map((one) => look(redis, one));
    case 'acquire.setnx':
      return noting(redis, key, args.slice(5), () =>
        acquire(redis, key, ownerKey, value, () => put(forMs)),
      );
    case 'extend.setnx':
      return extend(redis, key, ownerKey, value, () => put(forMs));
    case 'release.setnx': {
      redis.record(String(keys[0] ?? ''), String(args[3] ?? ''));
      const end = () => {
        if (forMs > 0) put(forMs);
        else for (const one of [key, ownerKey]) redis.set(one, null, null);
      };
      return release(redis, key, ownerKey, value, end);
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
  stamp: string,
): { owner: string; safeUntil: number } | null {
  const endsAt = endOf(stamp);
  if (endsAt === null || redis.now > endsAt + differenceMs) return null;
  return {
    owner: ownerIn(redis.get(ownerKeyOf(key)), stamp) ?? stamp,
    safeUntil: endsAt - differenceMs,
  };
}

export function isTime(text: string): boolean {
  return endOf(text) !== null;
}

function noting(redis: SimRedis, key: string, args: Words, ask: () => Reply): Reply {
  const reply = ask();
  if (Array.isArray(reply) && reply[0] === 1) removeSkip(redis, key, args);
  else recordSkip(redis, key, args);
  return reply;
}

function acquire(
  redis: SimRedis,
  key: string,
  ownerKey: string,
  value: string,
  put: () => void,
): Reply {
  const { flaws, now } = redis;
  const stamp = redis.get(key);
  if (stamp !== null && ownerOf(redis, stamp, ownerKey) !== value) {
    const refuse = (holder: string, leftMs: number): Reply => [
      0,
      told(holder),
      Math.ceil(leftMs),
      -1,
      ...redis.time(),
      '',
      [],
    ];
    const endsAt = endOf(stamp);
    if (endsAt === null) return refuse(stamp, redis.remainingMs(key) ?? -1);
    const overAt = flaws.has('time-taken-over-too-soon') ? endsAt : endsAt + differenceMs;
    if (now <= overAt) return refuse(ownerOf(redis, stamp, ownerKey) ?? stamp, overAt - now);
  }
  put();
  return [1, 0];
}

function extend(
  redis: SimRedis,
  key: string,
  ownerKey: string,
  value: string,
  put: () => void,
): Reply {
  const stamp = redis.get(key);
  if (stamp === null) return [-1];
  const isOurs = ownerOf(redis, stamp, ownerKey) === value;
  if (!isOurs && !redis.flaws.has('time-of-another-extended')) return [0];
  put();
  return [1, ...redis.time(), ''];
}

function release(
  redis: SimRedis,
  key: string,
  ownerKey: string,
  value: string,
  end: () => void,
): Reply {
  const stamp = redis.get(key);
  if (stamp === null) return -1;
  const isOurs = stamp === value || ownerOf(redis, stamp, ownerKey) === value;
  if (!isOurs && !redis.flaws.has('time-of-another-released')) return 0;
  end();
  return 1;
}

/** As sim-look.ts; a time that is over is no lock. */
function look(
  redis: SimRedis,
  key: string,
): [string, string | null, number, null, [], [], null, number, (string | number)[]] {
  const stamp = redis.get(key);
  const endsAt = stamp === null ? null : endOf(stamp);
  const overAt = endsAt === null ? null : Math.ceil(endsAt + differenceMs - redis.now);
  if (stamp === null || (overAt !== null && overAt < 0))
    return ['none', null, -2, null, [], [], null, -2, []];
  const value = ownerOf(redis, stamp, ownerKeyOf(key)) ?? stamp;
  return [
    'string',
    value,
    overAt ?? redis.remainingMs(key) ?? -1,
    null,
    [],
    [],
    null,
    -2,
    endingsOn(redis, key, [value]),
  ];
}

function write(
  redis: SimRedis,
  key: string,
  ownerKey: string,
  value: string,
  ms: number,
  unitMs: number,
): void {
  const { flaws, now } = redis;
  const stamp = flaws.has('time-without-the-second')
    ? Math.floor((now + ms) / unitMs)
    : Math.floor(now / unitMs) + Math.ceil((ms + differenceMs) / unitMs) + 1;
  const keepMs = Math.ceil(stamp * unitMs - now + differenceMs);
  redis.set(key, String(stamp), keepMs);
  redis.set(ownerKey, `${stamp} ${value}`, keepMs);
}

/** In ms; null for what is no time. */
function endOf(stamp: string): number | null {
  if (!/^\d+\.?\d*$/.test(stamp)) return null;
  const number = Number(stamp);
  return number < 100_000_000_000 ? number * 1_000 : number;
}

function ownerOf(redis: SimRedis, stamp: string, ownerKey: string): string | null {
  const record = redis.get(ownerKey);
  return redis.flaws.has('owner-counts-for-any-time')
    ? (record?.replace(/^\S+ /, '') ?? null)
    : ownerIn(record, stamp);
}

/** The value that the record names as the owner of this time. */
function ownerIn(record: string | null, stamp: string): string | null {
  return record?.startsWith(`${stamp} `) ? record.slice(stamp.length + 1) : null;
}

function ownerKeyOf(key: string): string {
  return `{${key}}:owner`;
}
