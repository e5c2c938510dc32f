// What each call on a master does and answers, by what stands under the resource: nothing, our value, somebody else's. The
// first half of the contract; the server is in good health here (faults.ts is the other half).
//
// The surprise: a release is only promised to a handle that has acquired. Who never asked for a key has none to give up.

import { describe, expect, test } from 'vitest';
import type { Master } from '../../src/lock/ports.ts';
import { claimOf, heldBy, lasting, type Server, upTo, type World } from './world.ts';

/** Above what Lua prints in full, and still exact in JavaScript. */
const largeCount = 1_763_700_000_000_001;

export function votes(world: World): void {
  const it = (title: string, body: (server: Server, master: Master) => Promise<void>) =>
    test(title, () => world((server) => body(server, server.handle())));

  describe('acquire', () => {
    it('nothing there: granted, and our value stands with its time', async (server, master) => {
      expect(await master.acquire(claimOf('a'), lasting)).toMatchObject({ kind: 'granted' });
      expect(await server.read('r')).toEqual(heldBy('a'));
    });

    it('our value there: granted again, for the whole time anew', async (server, master) => {
      await master.acquire(claimOf('a', { ttlMs: 5_000 }), lasting);
      expect(await master.acquire(claimOf('a'), lasting)).toMatchObject({ kind: 'granted' });
      expect(await server.read('r')).toEqual(heldBy('a'));
    });

    it('our value there, set by an earlier connection: granted', async (server, master) => {
      await server.write('r', 'a', 5_000);
      expect(await master.acquire(claimOf('a'), lasting)).toMatchObject({ kind: 'granted' });
    });

    it('another value there: refused with the holder and the time left, nothing changed', async (server, master) => {
      await server.write('r', 'b', 5_000);
      await server.setCounter('r', 7);
      const reply = await master.acquire(claimOf('a'), lasting);
      expect(reply).toEqual(refusedBy('b', upTo(5_000)));
      expect(await server.read('r')).toEqual(heldBy('b', 5_000));
      expect(await server.counter('r')).toBe(7);
    });

    it('another value there that never expires: refused, no time left known', async (server, master) => {
      await server.write('r', 'b', null);
      expect(await master.acquire(claimOf('a'), lasting)).toEqual(refusedBy('b', null));
    });

    it('another value that has expired: granted', async (server, master) => {
      await server.write('r', 'b', 30);
      await server.pass(40);
      expect(await master.acquire(claimOf('a'), lasting)).toMatchObject({ kind: 'granted' });
    });

    it('two handles on one server exclude each other, two resources do not', async (server, master) => {
      const [first, second, other] = [claimOf('a'), claimOf('b'), claimOf('b', { resource: 's' })];
      expect(await master.acquire(first, lasting)).toMatchObject({ kind: 'granted' });
      expect(await server.handle().acquire(second, lasting)).toMatchObject({ kind: 'refused', holder: 'a' });
      expect(await server.handle().acquire(other, lasting)).toMatchObject({ kind: 'granted' });
    });
  });

  describe('the fence', () => {
    it('grows by one with every grant, also of the same value', async (server, master) => {
      await server.setCounter('r', 41);
      expect(await master.acquire(claimOf('a'), lasting)).toEqual({ kind: 'granted', fence: 42 });
      expect(await master.acquire(claimOf('a'), lasting)).toEqual({ kind: 'granted', fence: 43 });
      expect(await server.counter('r')).toBe(43);
    });

    it('is neither counted nor told for a claim without one', async (server, master) => {
      const plain = claimOf('a', { isFenced: false });
      expect(await master.acquire(plain, lasting)).toEqual({ kind: 'granted', fence: null });
      expect(await master.extend(plain, null, lasting)).toMatchObject({ kind: 'extended' });
      expect(await master.heal(plain, null, lasting)).toEqual({ kind: 'healed' });
      expect(await server.counter('r')).toBeNull();
    });

    it('is exact in numbers of sixteen digits', async (server, master) => {
      await server.setCounter('r', largeCount);
      expect(await master.acquire(claimOf('a'), lasting)).toEqual({ kind: 'granted', fence: largeCount + 1 });
      await master.extend(claimOf('a'), largeCount + 8, lasting);
      expect(await server.counter('r')).toBe(largeCount + 8);
    });

    it('is raised to the number given by extend and heal, never lowered', async (server, master) => {
      await server.setCounter('r', 41);
      await master.acquire(claimOf('a'), lasting);
      for (const [call, number, count] of [
        ['extend', 40, 42],
        ['heal', 40, 42],
        ['extend', 50, 50],
        ['heal', 60, 60],
        ['extend', null, 60],
      ] as const) {
        await master[call](claimOf('a'), number, lasting);
        expect(await server.counter('r'), `${call} ${number}`).toBe(count);
      }
    });

    it('outlives the release', async (server, master) => {
      await server.setCounter('r', 41);
      await master.acquire(claimOf('a'), lasting);
      await master.release(claimOf('a'), 0, lasting);
      expect(await master.acquire(claimOf('b'), lasting)).toEqual({ kind: 'granted', fence: 43 });
    });

    it('starts above every earlier one on a server that has lost its memory', async (server, master) => {
      const before = await master.acquire(claimOf('a'), lasting);
      await server.pass(5);
      await server.restart();
      const after = await server.handle().acquire(claimOf('b'), lasting);
      expect(after).toMatchObject({ kind: 'granted', fence: expect.toSatisfy((fence) => fence > fenceOf(before)) });
    });
  });

  describe('extend', () => {
    it('our value there: extended to the time given, which may be shorter', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      for (const ttlMs of [90_000, 20_000]) {
        expect(await master.extend(claimOf('a', { ttlMs }), null, lasting)).toMatchObject({ kind: 'extended' });
        expect(await server.read('r')).toEqual(heldBy('a', ttlMs));
      }
    });

    it('tells the time of the server', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      const times: number[] = [];
      for (let count = 0; count < 2; count += 1) {
        const reply = await master.extend(claimOf('a'), null, lasting);
        times.push(reply.kind === 'extended' ? reply.masterTimeMs : Number.NaN);
        await server.pass(100);
      }
      const [first = 0, second = 0] = times;
      expect(second - first).toSatisfy((passedMs) => passedMs >= 99 && passedMs < 1_000);
    });

    it('another value there: taken, nothing changed', async (server, master) => {
      await server.write('r', 'b', 5_000);
      await server.setCounter('r', 7);
      expect(await master.extend(claimOf('a'), 9, lasting)).toEqual({ kind: 'taken' });
      expect([await server.read('r'), await server.counter('r')]).toEqual([heldBy('b', 5_000), 7]);
    });

    it('nothing there: gone, and nothing is there afterwards', async (server, master) => {
      expect(await master.extend(claimOf('a'), 9, lasting)).toEqual({ kind: 'gone' });
      expect([await server.read('r'), await server.counter('r')]).toEqual([null, null]);
    });
  });

  describe('heal', () => {
    it('nothing there: healed, and our value stands with its time', async (server, master) => {
      expect(await master.heal(claimOf('a'), 9, lasting)).toEqual({ kind: 'healed' });
      expect([await server.read('r'), await server.counter('r')]).toEqual([heldBy('a'), 9]);
    });

    it('our value there: healed', async (server, master) => {
      await master.acquire(claimOf('a', { ttlMs: 5_000 }), lasting);
      expect(await master.heal(claimOf('a'), null, lasting)).toEqual({ kind: 'healed' });
      expect(await server.read('r')).toEqual(heldBy('a'));
    });

    it('another value there: taken, nothing changed', async (server, master) => {
      await server.write('r', 'b', 5_000);
      await server.setCounter('r', 7);
      expect(await master.heal(claimOf('a'), 9, lasting)).toEqual({ kind: 'taken' });
      expect([await server.read('r'), await server.counter('r')]).toEqual([heldBy('b', 5_000), 7]);
    });
  });

  describe('release', () => {
    it('our value there: released, and nothing stands there', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      expect(await master.release(claimOf('a'), 0, lasting)).toEqual({ kind: 'released' });
      expect(await server.read('r')).toBeNull();
    });

    it('our value there by heal alone: released', async (server, master) => {
      await master.heal(claimOf('a'), null, lasting);
      expect(await master.release(claimOf('a'), 0, lasting)).toEqual({ kind: 'released' });
      expect(await server.read('r')).toBeNull();
    });

    it('to be kept for a while: released, and our value stands for so long', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      expect(await master.release(claimOf('a'), 5_000, lasting)).toEqual({ kind: 'released' });
      expect(await server.read('r')).toEqual(heldBy('a', 5_000));
    });

    it('another value there by now: taken, nothing changed', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      await server.write('r', 'b', 5_000);
      expect(await master.release(claimOf('a'), 0, lasting)).toEqual({ kind: 'taken' });
      expect(await server.read('r')).toEqual(heldBy('b', 5_000));
    });

    it('nothing there any more: gone', async (server, master) => {
      await master.acquire(claimOf('a', { ttlMs: 20 }), lasting);
      await server.pass(40);
      expect(await master.release(claimOf('a'), 0, lasting)).toEqual({ kind: 'gone' });
    });

    it('a second time: gone', async (_server, master) => {
      await master.acquire(claimOf('a'), lasting);
      await master.release(claimOf('a'), 0, lasting);
      expect(await master.release(claimOf('a'), 0, lasting)).toEqual({ kind: 'gone' });
    });

    it('after being refused: nothing changed', async (server, master) => {
      await server.write('r', 'b', 5_000);
      await master.acquire(claimOf('a'), lasting);
      expect(await master.release(claimOf('a'), 0, lasting)).not.toEqual({ kind: 'released' });
      expect(await server.read('r')).toEqual(heldBy('b', 5_000));
    });
  });
}

function fenceOf(reply: { kind: string; fence?: number | null }): number {
  return reply.fence ?? Number.NaN;
}

/** As somebody who does not wait is refused. */
function refusedBy(holder: string, remainingMs: unknown) {
  return { kind: 'refused', holder, remainingMs, place: null, masterTimeUs: expect.any(Number) };
}
