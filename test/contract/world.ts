// What the contract of the Master port needs of the world it is checked in: one server that can be
// looked at and harmed. It knows resources, values and counters, and nothing of keys, scripts or
// connections, so that a simulated server can stand behind it as well as a real one.
//
// *Note:* a world in virtual time has to drive its clock while a test runs. So a world is a
// function that is given the test, and tests wait by `server.pass` and in no other way.

import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import type { Master } from '../../src/lock/ports.ts';
import { alone, type Claim, type Failed, type ReleaseReply } from '../../src/lock/types.ts';
import { parseValue } from '../../src/lock/value.ts';
import { waiterIdOf } from '../../src/lock/waiter-id.ts';
import type { FreezeReply, Server as RedisServer } from '../../src/redis/server.ts';
import type { LockSnapshot } from '../../src/redis/snapshot.ts';

export interface Server {
  /** Of all keys. */
  readonly prefix: string;
  /** One more handle on the server, as one more program has it; independent of the others. */
  handle(): Master;
  /** The same of a program that marks the server. */
  marking(): Pick<RedisServer, 'identify' | 'identity' | 'recordSet'>;
  /** Puts a set of masters there, as a host recorded it `agoMs` ago. */
  putSet(host: string, agoMs: number, ids: string): Promise<void>;
  /** Takes its mark away, with all that stands beside it. */
  forgetMark(): Promise<void>;
  /** What a client sees that takes no lock, of each of these. */
  look(...resources: string[]): Promise<readonly LockSnapshot[] | Failed>;
  /** Bars new holders, for so many ms (0: until the thaw). */
  freezeLock(resource: string, value: string, forMs: number): Promise<FreezeReply | Failed>;
  /** Removes exactly this freeze. */
  thawLock(resource: string, value: string): Promise<ReleaseReply>;
  /** What stands under the resource; `remainingMs` is null for a value that never expires. */
  read(
    resource: string,
  ): Promise<{ readonly value: string; readonly remainingMs: number | null } | null>;
  /** Puts another's value there, over whatever there is; null: it never expires. */
  write(resource: string, value: string, ttlMs: number | null): Promise<void>;
  /** Takes away what stands there, as a person would. */
  remove(resource: string): Promise<void>;
  /**
   * The values of those that hold it together, in alphabetical order; of those on slots, as `2
   * value`.
   */
  holders(resource: string): Promise<readonly string[]>;
  /** The counter of the fence; null when there is none. */
  counter(resource: string): Promise<number | null>;
  setCounter(resource: string, count: number): Promise<void>;
  /**
   * What stands beside the resource, of whose it is, where the resource itself holds only a time.
   */
  ownerKey(resource: string): Promise<string | null>;
  /** The server's time of day, in whole milliseconds. */
  now(): Promise<number>;
  /** The lines of the history, oldest first. */
  history(resource: string): Promise<readonly string[]>;
  /** By token, the lines of the runs that have begun, and have no end here. */
  starts(resource: string): Promise<Readonly<Record<string, string>>>;
  /** How many runs of each host it has refused that did not wait. */
  skips(resource: string): Promise<Readonly<Record<string, number>>>;
  /**
   * It takes no notice of anything until `thaw`, and then does everything it was asked, in order.
   */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /**
   * It does what it is asked, and no answer arrives until `restore`. Answers that were lost stay
   * lost.
   */
  loseAnswers(): Promise<void>;
  /** Every connection breaks, and none is made until `restore`. */
  unplug(): Promise<void>;
  restore(): Promise<void>;
  /** Every connection breaks; new ones can be made at once. */
  cut(): Promise<void>;
  /** Down, and up again without its memory. */
  restart(): Promise<void>;
  /** So much time passes, for the server as well. */
  pass(ms: number): Promise<void>;
}

/** Makes one empty server, runs the test on it, cleans up. */
export type World = (body: (server: Server) => Promise<void>) => Promise<void>;

/** Declares a test: it is given an empty server, and one handle on it. */
export type Declare = (
  title: string,
  body: (server: Server, master: Master) => Promise<void>,
) => void;

export function testsOn(world: World): Declare {
  return (title, body) => test(title, () => world((server) => body(server, server.handle())));
}

export const lasting = new AbortController().signal;
const usualTtlMs = 60_000;

export function claimOf(value: string, changes: Partial<Claim> = {}): Claim {
  return {
    ...alone,
    resources: ['r'],
    token: parseValue(value).token,
    value,
    ttlMs: usualTtlMs,
    isFenced: true,
    waiter: null,
    ...changes,
  };
}

/** A holder on a slot is told which one it has. */
export function slotOf(
  value: string,
  slot: number,
  slotCount = 2,
  changes: Partial<Claim> = {},
): Claim {
  return claimOf(value, { sharing: { kind: 'slots', slotCount, slot }, ...changes });
}

export function sharedOf(value: string, changes: Partial<Claim> = {}): Claim {
  return claimOf(value, { sharing: { kind: 'shared' }, ...changes });
}

/** The claim of a waiter; `arrivalUs` by the letter of the value: `a` came first. */
export function waiting(claim: Claim): Claim {
  const id = waiterIdOf(claim, `random-${claim.value}`, '1@host');
  return { ...claim, waiter: { id, arrivalUs: claim.value.charCodeAt(0) } };
}

export const granted = expect.objectContaining({ kind: 'granted' });

/** Acquires by a handle of its own, as another program does. */
export function ask(server: Server, claim: Claim): ReturnType<Master['acquire']> {
  return server.handle().acquire(claim, lasting);
}

/** A handle that listens for the waiter of the claim, and how often it was woken. */
export async function earOf(server: Server, claim: Claim) {
  let calls = 0;
  const id = claim.waiter?.id ?? '';
  const subscription = await server.handle().subscribe(claim.resources, id, () => {
    calls += 1;
  });
  assert(!('kind' in subscription), 'no handle listens');
  return { subscription, count: () => calls };
}

export async function untilCalled(server: Server, count: () => number): Promise<void> {
  for (let tryCount = 0; count() === 0 && tryCount < 600; tryCount += 1) await server.pass(50);
  expect(count()).toBeGreaterThan(0);
}

/** Matches the lock as `value` holds it, with at most `ttlMs` left. */
export function heldBy(value: string, ttlMs = usualTtlMs) {
  return { value, remainingMs: upTo(ttlMs) };
}

/** Matches so many ms, or less: the test takes its time. */
export function upTo(ttlMs: number, atMostLessMs = 3_000): unknown {
  const isLeft = (ms: unknown) =>
    typeof ms === 'number' && ms > Math.max(0, ttlMs - atMostLessMs) && ms <= ttlMs;
  return expect.toSatisfy(isLeft, `about ${ttlMs} ms`);
}

/** Asks again, for at most three seconds of the world's time, until the master answers. */
export async function untilAnswered<Reply extends { kind: string }>(
  server: Server,
  ask: () => Promise<Reply>,
) {
  for (let tryCount = 1; ; tryCount += 1) {
    const reply = await ask();
    if (reply.kind !== 'failed' || tryCount === 60) return reply;
    await server.pass(50);
  }
}
