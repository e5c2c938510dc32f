// What becomes of a value once it stands: extended, repaired, released, by what is there by then.
// The server is in good health here (faults.ts is about the other days).
//
// *Note:* a release is only promised after an acquire of the same handle.

import { describe, expect } from 'vitest';
import {
  claimOf,
  type Declare,
  heldBy,
  lasting,
  testsOn,
  untilAnswered,
  type World,
} from './world.ts';

export function upkeep(world: World): void {
  const it = testsOn(world);

  describe('extend', () => extensions(it));
  describe('repair', () => repairs(it));
  describe('release', () => releases(it));
}

function extensions(it: Declare): void {
  it('our value there: extended to the time given, also shorter', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    for (const ttlMs of [90_000, 20_000]) {
      expect(await master.extend(claimOf('a', { ttlMs }), null, lasting)).toMatchObject({
        kind: 'extended',
      });
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
    expect(await master.extend(claimOf('a'), 9, lasting)).toEqual({ kind: 'missing' });
    expect([await server.read('r'), await server.counter('r')]).toEqual([null, null]);
  });
}

function repairs(it: Declare): void {
  it('nothing there: repaired, and our value stands with its time', async (server, master) => {
    expect(await master.repair(claimOf('a'), 9, lasting)).toEqual({ kind: 'repaired' });
    expect([await server.read('r'), await server.counter('r')]).toEqual([heldBy('a'), 9]);
  });

  it('our value there: repaired', async (server, master) => {
    await master.acquire(claimOf('a', { ttlMs: 5_000 }), lasting);
    expect(await master.repair(claimOf('a'), null, lasting)).toEqual({ kind: 'repaired' });
    expect(await server.read('r')).toEqual(heldBy('a'));
  });

  it('another value there: taken, nothing changed', async (server, master) => {
    await server.write('r', 'b', 5_000);
    await server.setCounter('r', 7);
    expect(await master.repair(claimOf('a'), 9, lasting)).toEqual({ kind: 'taken' });
    expect([await server.read('r'), await server.counter('r')]).toEqual([heldBy('b', 5_000), 7]);
  });
}

function releases(it: Declare): void {
  it('our value there: released, and nothing stands there', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    expect(await master.release(claimOf('a'), 0, null)).toEqual({ kind: 'released' });
    expect(await server.read('r')).toBeNull();
  });

  it('our value there by repair alone: released', async (server, master) => {
    await master.repair(claimOf('a'), null, lasting);
    expect(await master.release(claimOf('a'), 0, null)).toEqual({ kind: 'released' });
    expect(await server.read('r')).toBeNull();
  });

  it('to be kept for a while: released, and our value stands so long', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    expect(await master.release(claimOf('a'), 5_000, null)).toEqual({ kind: 'released' });
    expect(await server.read('r')).toEqual(heldBy('a', 5_000));
  });

  it('another value there by now: taken, nothing changed', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await server.write('r', 'b', 5_000);
    expect(await master.release(claimOf('a'), 0, null)).toEqual({ kind: 'taken' });
    expect(await server.read('r')).toEqual(heldBy('b', 5_000));
  });

  it('nothing there any more: gone', async (server, master) => {
    await master.acquire(claimOf('a', { ttlMs: 20 }), lasting);
    await server.pass(40);
    expect(await master.release(claimOf('a'), 0, null)).toEqual({ kind: 'missing' });
  });

  it('a second time: gone', async (_server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 0, null);
    expect(await master.release(claimOf('a'), 0, null)).toEqual({ kind: 'missing' });
  });

  it('adds a line, also where the value is gone or another', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 0, 'first');
    await master.acquire(claimOf('b'), lasting);
    await server.write('r', 'c', 5_000);
    await master.release(claimOf('b'), 0, 'second');
    expect([await server.history('r'), await server.read('r')]).toEqual([
      ['first', 'second'],
      heldBy('c', 5_000),
    ]);
  });

  it('without a line, and after a rolled back attempt: adds none', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 0, null);
    await master.acquire(claimOf('b'), lasting);
    await master.rollback(claimOf('b'));
    expect(await server.history('r')).toEqual([]);
  });

  it('on a broken connection: adds the line on the next one', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await server.unplug();
    await master.release(claimOf('a'), 0, 'first');
    await server.restore();
    await untilAnswered(server, () => master.extend(claimOf('b'), null, lasting));
    expect(await server.history('r')).toContain('first');
  });

  it('after being refused: nothing changed', async (server, master) => {
    await server.write('r', 'b', 5_000);
    await master.acquire(claimOf('a'), lasting);
    expect(await master.release(claimOf('a'), 0, null)).not.toEqual({ kind: 'released' });
    expect(await server.read('r')).toEqual(heldBy('b', 5_000));
  });
}
