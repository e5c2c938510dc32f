// What a master answers to an acquire, by what stands under the resource: nothing, our value,
// another's; and what it counts for the fence. The server is in good health here (faults.ts
// is about the other days).
//
// *Note:* our own value counts as ours whenever it was set, because an answer may have been lost.

import { describe, expect } from 'vitest';
import { claimOf, type Declare, heldBy, lasting, testsOn, upTo, type World } from './world.ts';

/** Above what Lua prints in full, and still exact in JavaScript. */
const largeCount = 1_763_700_000_000_001;

export function votes(world: World): void {
  const it = testsOn(world);

  describe('acquire', () => acquires(it));
  describe('the fence', () => fences(it));
}

function acquires(it: Declare): void {
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

  it('another value there: refused with holder and time, unchanged', async (server, master) => {
    await server.write('r', 'b', 5_000);
    await server.setCounter('r', 7);
    const reply = await master.acquire(claimOf('a'), lasting);
    expect(reply).toEqual(refusedBy('b', upTo(5_000)));
    expect(await server.read('r')).toEqual(heldBy('b', 5_000));
    expect(await server.counter('r')).toBe(7);
  });

  it('another value that never expires: refused, no time known', async (server, master) => {
    await server.write('r', 'b', null);
    expect(await master.acquire(claimOf('a'), lasting)).toEqual(refusedBy('b', null));
  });

  it('another value that has expired: granted', async (server, master) => {
    await server.write('r', 'b', 30);
    await server.pass(40);
    expect(await master.acquire(claimOf('a'), lasting)).toMatchObject({ kind: 'granted' });
  });

  it('two handles on a server exclude each other, two resources not', async (server, master) => {
    const [first, second, other] = [claimOf('a'), claimOf('b'), claimOf('b', { resources: ['s'] })];
    expect(await master.acquire(first, lasting)).toMatchObject({ kind: 'granted' });
    expect(await server.handle().acquire(second, lasting)).toMatchObject({
      kind: 'refused',
      holder: 'a',
    });
    expect(await server.handle().acquire(other, lasting)).toMatchObject({ kind: 'granted' });
  });
}

function fences(it: Declare): void {
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
    expect(await master.repair(plain, null, lasting)).toEqual({ kind: 'repaired' });
    expect(await server.counter('r')).toBeNull();
  });

  it('is exact in numbers of sixteen digits', async (server, master) => {
    await server.setCounter('r', largeCount);
    expect(await master.acquire(claimOf('a'), lasting)).toEqual({
      kind: 'granted',
      fence: largeCount + 1,
    });
    await master.extend(claimOf('a'), largeCount + 8, lasting);
    expect(await server.counter('r')).toBe(largeCount + 8);
  });

  it('is raised by extend and repair to their number, not lowered', async (server, master) => {
    await server.setCounter('r', 41);
    await master.acquire(claimOf('a'), lasting);
    for (const [call, number, count] of [
      ['extend', 40, 42],
      ['repair', 40, 42],
      ['extend', 50, 50],
      ['repair', 60, 60],
      ['extend', null, 60],
    ] as const) {
      await master[call](claimOf('a'), number, lasting);
      expect(await server.counter('r'), `${call} ${number}`).toBe(count);
    }
  });

  it('outlives the release', async (server, master) => {
    await server.setCounter('r', 41);
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 0, null);
    expect(await master.acquire(claimOf('b'), lasting)).toEqual({ kind: 'granted', fence: 43 });
  });

  it('starts above every earlier one on a server that forgot all', async (server, master) => {
    const before = await master.acquire(claimOf('a'), lasting);
    await server.pass(5);
    await server.restart();
    const after = await server.handle().acquire(claimOf('b'), lasting);
    expect(after).toMatchObject({
      kind: 'granted',
      fence: expect.toSatisfy((fence) => fence > fenceOf(before)),
    });
  });
}

function fenceOf(reply: { kind: string; fence?: number | null }): number {
  return reply.fence ?? Number.NaN;
}

/** As a client that does not wait is refused. */
function refusedBy(holder: string, remainingMs: unknown) {
  return { kind: 'refused', holder, remainingMs, position: null, masterTimeUs: expect.any(Number) };
}
