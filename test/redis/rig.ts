// The lock on real masters as a program has it, with what a test needs to look behind it. Every
// handle that is made here is closed after the test.
//
// *Note:* counters of the fence and histories stay on the masters, by design, so they do not count
// as something left.

import { randomBytes } from 'node:crypto';
import { afterEach, expect } from 'vitest';
import type { Clock, LockEvent } from '../../src/lock/ports.ts';
import { defaultDriftFactor } from '../../src/lock/quorum.ts';
import { Redlock } from '../../src/lock/redlock.ts';
import { type AcquireReply, alone, type Claim, type FailureCause } from '../../src/lock/types.ts';
import { parseValue } from '../../src/lock/value.ts';
import { type MasterAddress, parseAddress } from '../../src/redis/address.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import type { ServerSettings } from '../../src/redis/connected-server.ts';
import { ServerRegistry } from '../../src/redis/identity.ts';
import { Server } from '../../src/redis/server.ts';
import { createPlainClock } from '../../src/system/clock.ts';
import { eventually } from '../servers/processes.ts';

/** Anything with the URL of a master: a TestMaster, a FaultyProxy, or just the URL or address. */
type Place = { readonly url: string } | MasterAddress | string;

export const clock = createPlainClock();
export const lasting = new AbortController().signal;
/** The same, for one waiter: what a crowd listens to looks like a leak. */
export const never = () => new AbortController().signal;
const handles: Server[] = [];

afterEach(() => {
  for (const handle of handles.splice(0)) handle.close();
});

export interface RigOptions
  extends Partial<Pick<ServerSettings, 'prefix' | 'restartGraceMs' | 'protocol'>> {
  readonly masterTimeoutMs?: number;
  readonly registry?: ServerRegistry;
  /** Default: that of all. */
  readonly by?: Clock;
}

export function handleOn(
  place: Place,
  {
    prefix = '',
    restartGraceMs = 0,
    protocol = 'redlock',
    registry = new ServerRegistry(),
    by = clock,
  }: RigOptions = {},
) {
  const handle = new Server(
    addressOf(place),
    {
      prefix,
      restartGraceMs,
      historyBytes: defaultHistoryBytes,
      protocol,
    },
    registry,
    by,
    'lock',
  );
  handles.push(handle);
  return handle;
}

function addressOf(place: Place): MasterAddress {
  if (typeof place !== 'string' && !('url' in place)) return place;
  return parseAddress(typeof place === 'string' ? place : place.url);
}

/** One attempt of a handle of its own. */
export function acquireAt(place: Place): Promise<AcquireReply> {
  return handleOn(place).acquire(newClaim(), lasting);
}

/** As failed(), with what to do beside the message. */
export function advised(cause: FailureCause, message: RegExp, advice: RegExp) {
  return expect.objectContaining({
    cause,
    message: expect.stringMatching(message),
    advice: expect.stringMatching(advice),
  });
}

/** Matches a vote that was not given. */
export function failed(cause: FailureCause, message: RegExp) {
  return expect.objectContaining({
    kind: 'failed',
    cause,
    message: expect.stringMatching(message),
  });
}

export interface Rig {
  readonly redlock: Redlock;
  readonly masters: readonly Server[];
  /** What the lock has told so far. */
  readonly events: LockEvent[];
}

/** A Redlock of its own over these masters, as one more program has it. */
export function redlockOn(places: readonly Place[], options: RigOptions = {}): Rig {
  const registry = options.registry ?? new ServerRegistry();
  const masters = places.map((place) => handleOn(place, { ...options, registry }));
  const events: LockEvent[] = [];
  const { masterTimeoutMs = 1_000 } = options;
  const settings = { masterTimeoutMs, reserveMs: 0, driftFactor: defaultDriftFactor };
  return {
    redlock: new Redlock(masters, clock, settings, (event) => events.push(event)),
    masters,
    events,
  };
}

/** A wish with a value of its own; `ttlMs` is far longer than any test. */
export function newClaim(changes: Partial<Claim> = {}): Claim {
  const { value = randomBytes(8).toString('hex') } = changes;
  return {
    ...alone,
    resources: ['r'],
    token: parseValue(value).token,
    value,
    ttlMs: 60_000,
    isFenced: true,
    waiter: null,
    ...changes,
  };
}

interface Keeper {
  readonly name: string;
  keys(): Promise<string[]>;
}

/** The keys on a master, without counters and histories. */
export async function locksOn(master: Keeper): Promise<string[]> {
  return (await master.keys()).filter((key) => !/:(fence|history|mark|promotion)$/.test(key));
}

/**
 * Waits until no master keeps any lock: what a frozen one was told it does only when it has thawed.
 */
export async function untilNothingIsLeft(masters: readonly Keeper[]): Promise<void> {
  for (const master of masters) {
    await eventually(
      `${master.name} keeps nothing`,
      async () => (await locksOn(master)).length === 0,
      2_000,
    );
  }
}

/** Every subset of a list, the empty one and the whole one included. */
export function subsetsOf<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: 2 ** items.length }, (_, bits) =>
    items.filter((_, index) => (bits >> index) & 1),
  );
}
