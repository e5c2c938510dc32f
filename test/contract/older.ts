// The contract of a Master in the older protocol, in which a key holds the time at which its lock
// ends: what it answers and leaves by what stands there, for both units; and order and faults,
// which are the same as ever. docs/protocols.md says what that protocol cannot do.
//
// *Note:* the key holds only a time. The owner key names its owner, and counts only while it
// names that time.

import assert from 'node:assert/strict';
import { describe, expect } from 'vitest';
import type { Master } from '../../src/lock/ports.ts';
import type { Claim } from '../../src/lock/types.ts';
import type { LockSnapshot } from '../../src/redis/snapshot.ts';
import { faults } from './faults.ts';
import { endOf } from './looks.ts';
import { order } from './order.ts';
import { claimOf, type Declare, lasting, type Server, testsOn, upTo, type World } from './world.ts';

type Protocol = 'setnx' | 'setnx-ms';
/** What is added to the ttl for clocks that differ, and the one of the page. */
const differenceMs = 1_000;

export function olderContract(name: string, worldOf: (protocol: Protocol) => World): void {
  describe(`${name} as a Master in the older protocol`, () => {
    describe('setnx', () => times(worldOf('setnx'), 1_000));
    describe('setnx-ms', () => {
      times(worldOf('setnx-ms'), 1);
      const world = readAsLocks(worldOf('setnx-ms'));
      order(world);
      faults(world);
    });
  });
}

function times(world: World, unitMs: number): void {
  const it = testsOn(world);

  describe('acquire', () => acquiring(it, unitMs));
  describe('extend and repair', () => extending(it, unitMs));
  describe('a look', () => looks(it, unitMs));
  describe('release', () => releasing(it, unitMs));
}

const claim = (value: string, changes: Partial<Claim> = {}) =>
  claimOf(value, { isFenced: false, ...changes });
const acquire = (master: Master, value: string, changes: Partial<Claim> = {}) =>
  master.acquire(claim(value, changes), lasting);
const timeAt = async (server: Server) => (await server.read('r'))?.value ?? null;
const ownerIn = async (server: Server) => (await server.ownerKey('r')) ?? '';
const refused = (holder: string, remainingMs: unknown) => ({
  kind: 'refused',
  holder,
  remainingMs,
  position: null,
  masterTimeUs: expect.any(Number),
});

/** What writes and expects times of this unit. */
function timesIn(unitMs: number) {
  return {
    /** Another program writes a time so far from now, for ever; seconds with a fraction. */
    async write(server: Server, ms: number, resource = 'r'): Promise<string> {
      const text = String(((await server.now()) + ms) / unitMs);
      await server.write(resource, text, null);
      return text;
    },
    /**
     * The time of a lock that began between then and now, and its owner key, for as long as
     * others keep away.
     */
    async expectHeld(server: Server, value: string, ttlMs: number, since: number): Promise<void> {
      const ownership = await server.read('r');
      const endsAt = Number(ownership?.value) * unitMs;
      expect(endsAt).toBeGreaterThan(since + ttlMs + differenceMs);
      expect(endsAt).toBeLessThanOrEqual((await server.now()) + ttlMs + differenceMs + 2 * unitMs);
      expect(ownership?.remainingMs).toBeGreaterThan(endsAt - (await server.now()));
      expect(ownership?.remainingMs).toBeLessThanOrEqual(endsAt - since + differenceMs);
      expect(await ownerIn(server)).toBe(`${ownership?.value} ${value}`);
    },
  };
}

function acquiring(it: Declare, unitMs: number): void {
  const { expectHeld, write } = timesIn(unitMs);

  it('nothing there: granted, and its end stands there with an owner', async (server, master) => {
    const since = await server.now();
    expect(await acquire(master, 'a')).toEqual({ kind: 'granted', fence: null });
    await expectHeld(server, 'a', 60_000, since);
  });

  it('ours there: granted again, also to another connection', async (server, master) => {
    await acquire(master, 'a', { ttlMs: 5_000 });
    const since = await server.now();
    expect((await acquire(server.handle(), 'a')).kind).toBe('granted');
    await expectHeld(server, 'a', 60_000, since);
  });

  it('another of ours there: refused with its value and its time', async (server, master) => {
    await acquire(master, 'b', { ttlMs: 5_000 });
    const before = await timeAt(server);
    const leftMs = Number(before) * unitMs + differenceMs - (await server.now());
    expect(await acquire(master, 'a')).toEqual(refused('b', upTo(leftMs, 1_000)));
    expect([await timeAt(server), await ownerIn(server)]).toEqual([before, `${before} b`]);
  });

  it('the time of another program there: refused, nothing changed', async (server, master) => {
    const theirs = await write(server, 5_000);
    expect(await acquire(master, 'a')).toEqual(refused(theirs, upTo(6_001, 1_000)));
    expect([await timeAt(server), await ownerIn(server)]).toEqual([theirs, '']);
  });

  it('a time over a second ago: granted; a later one: refused', async (server, master) => {
    const theirs = await write(server, -300);
    expect(await acquire(master, 'a')).toEqual(refused(theirs, upTo(701)));
    await write(server, -1_050);
    const since = await server.now();
    expect((await acquire(master, 'a')).kind).toBe('granted');
    await expectHeld(server, 'a', 60_000, since);
  });

  it('what is no time: refused, until it expires or for ever', async (server, master) => {
    await server.write('r', 'them', 5_000);
    expect(await acquire(master, 'a')).toEqual(refused('them', upTo(5_000)));
    await server.write('r', 'them', null);
    expect(await acquire(master, 'a')).toEqual(refused('them', null));
  });

  it('two resources do not exclude each other; there is no queue', async (server, master) => {
    await acquire(master, 'a');
    expect((await acquire(master, 'b', { resources: ['s'] })).kind).toBe('granted');
    const waiter = { id: 'w', arrivalUs: 1 };
    expect(await acquire(server.handle(), 'c', { waiter })).toMatchObject({
      kind: 'refused',
      position: null,
    });
  });
}

function extending(it: Declare, unitMs: number): void {
  const { expectHeld, write } = timesIn(unitMs);

  it('ours there: another time, later or sooner', async (server, master) => {
    await acquire(master, 'a');
    for (const ttlMs of [90_000, 20_000]) {
      for (const [call, kind] of [
        ['extend', 'extended'],
        ['repair', 'repaired'],
      ] as const) {
        const since = await server.now();
        expect(await master[call](claim('a', { ttlMs }), null, lasting)).toMatchObject({ kind });
        await expectHeld(server, 'a', ttlMs, since);
      }
    }
  });

  it('tells the time of the server', async (server, master) => {
    await acquire(master, 'a');
    const since = await server.now();
    const reply = await master.extend(claim('a'), null, lasting);
    const told = reply.kind === 'extended' ? reply.masterTimeMs : Number.NaN;
    expect(told - since).toSatisfy((passedMs) => Number(passedMs) > -1 && Number(passedMs) < 1_000);
  });

  it('moved by the loser of a GETSET: taken, and left to pass', async (server, master) => {
    await acquire(master, 'a');
    const moved = await write(server, 30_000);
    expect(await master.extend(claim('a'), null, lasting)).toEqual({ kind: 'taken' });
    expect(await master.repair(claim('a'), null, lasting)).toEqual({ kind: 'taken' });
    expect(await timeAt(server)).toBe(moved);
  });

  it('nothing there: missing, not repaired, nothing afterwards', async (server, master) => {
    expect(await master.extend(claim('a'), null, lasting)).toEqual({ kind: 'missing' });
    expect(await master.repair(claim('a'), null, lasting)).toEqual({ kind: 'taken' });
    expect([await timeAt(server), await ownerIn(server)]).toEqual([null, '']);
  });
}

function looks(it: Declare, unitMs: number): void {
  const { write } = timesIn(unitMs);

  it('at nothing, ours, another program’s, and what is no time', async (server, master) => {
    const seen = async () => {
      const sights = await server.look('r', 's');
      assert(!('kind' in sights));
      return sights.map(({ type, value, remainingMs }) => [type, value, remainingMs]);
    };
    expect(await seen()).toEqual([
      [null, null, null],
      [null, null, null],
    ]);
    await acquire(master, 'a');
    const leftMs = Number(await timeAt(server)) * unitMs + differenceMs - (await server.now());
    const theirs = await write(server, 5_000, 's');
    expect(await seen()).toEqual([
      ['string', 'a', upTo(leftMs, 1_000)],
      ['string', theirs, upTo(6_001, 1_000)],
    ]);
    await write(server, -1_050);
    await server.write('s', 'them', null);
    expect(await seen()).toEqual([
      [null, null, null],
      ['string', 'them', null],
    ]);
  });

  it('at a holder whose run has ended, while its time stands', async (server, master) => {
    await acquire(master, 'a');
    await master.release(claim('a'), 5_000, endOf('a'));
    const [sight] = (await server.look('r')) as readonly LockSnapshot[];
    expect(sight?.endings).toEqual([{ token: 'a', atMs: expect.any(Number) }]);
  });
}

function releasing(it: Declare, unitMs: number): void {
  const { expectHeld, write } = timesIn(unitMs);

  it('ours there: released, and neither time nor owner is left', async (server, master) => {
    await acquire(master, 'a');
    expect(await master.release(claim('a'), 0, 'line')).toEqual({ kind: 'released' });
    expect([await timeAt(server), await ownerIn(server), await server.history('r')]).toEqual([
      null,
      '',
      ['line'],
    ]);
  });

  it('to be kept for a while: released, and a time stands so long', async (server, master) => {
    await acquire(master, 'a');
    const since = await server.now();
    expect(await master.release(claim('a'), 5_000, null)).toEqual({ kind: 'released' });
    await expectHeld(server, 'a', 5_000, since);
  });

  it('moved, or another of ours there by now: taken, nothing changed', async (server, master) => {
    await acquire(master, 'a');
    const moved = await write(server, 30_000);
    expect(await master.release(claim('a'), 0, null)).toEqual({ kind: 'taken' });
    expect(await timeAt(server)).toBe(moved);
    await server.remove('r');
    await acquire(master, 'a');
    await server.remove('r');
    await acquire(server.handle(), 'b');
    expect(await master.release(claim('a'), 0, null)).toEqual({ kind: 'taken' });
    expect(await ownerIn(server)).toMatch(/ b$/);
  });

  it('nothing there any more: gone', async (server, master) => {
    await acquire(master, 'a');
    await server.remove('r');
    expect(await master.release(claim('a'), 0, null)).toEqual({ kind: 'missing' });
  });
}

/**
 * What stands under a resource is told as of any lock: the value of the owner key, for the ttl
 * that was asked.
 */
function readAsLocks(world: World): World {
  const asLock = (server: Server): Server => ({
    ...server,
    async read(resource) {
      const ownership = await server.read(resource);
      if (ownership === null) return null;
      const [time, value = ''] = ((await server.ownerKey(resource)) ?? '').split(' ');
      if (time !== ownership.value) return ownership;
      return { value, remainingMs: Number(time) - differenceMs - 1 - (await server.now()) };
    },
  });
  return (test) => world((server) => test(asLock(server)));
}
