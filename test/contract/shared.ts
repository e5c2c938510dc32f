// A lock that several hold together: which holders may stand side by side, until when each of them
// does, and in which order waiters are woken. The server is in good health here.
//
// *Note:* the key itself shows no holder. It remains until the last holder ends; removing it ends
// all.

import { describe, expect } from 'vitest';
import { sharedQueue } from './shared-queue.ts';
import {
  ask,
  claimOf,
  type Declare,
  granted,
  heldBy,
  lasting,
  sharedOf,
  testsOn,
  upTo,
  type World,
} from './world.ts';

const refusedBy = (holder: string) => expect.objectContaining({ kind: 'refused', holder });

export function shared(world: World): void {
  const it = testsOn(world);

  describe('a shared lock', () => {
    holders(it);
    endings(it);
    missing(it);
  });
  sharedQueue(it);
}

function holders(it: Declare): void {
  it('is held by any number together', async (server, master) => {
    for (const value of ['a', 'b', 'c'])
      expect(await master.acquire(sharedOf(value), lasting)).toEqual(granted);
    expect([await server.holders('r'), await server.read('r')]).toEqual([
      ['a', 'b', 'c'],
      heldBy('shared'),
    ]);
  });

  it('is kept from exclusive claims, and the other way round', async (server, master) => {
    await master.acquire(sharedOf('a'), lasting);
    expect(await ask(server, claimOf('b'))).toMatchObject({
      kind: 'refused',
      holder: 'shared',
      remainingMs: upTo(60_000),
    });
    expect(await server.holders('r')).toEqual(['a']);
    await master.release(sharedOf('a'), 0, null);
    await master.acquire(claimOf('b'), lasting);
    expect(await ask(server, sharedOf('c'))).toEqual(refusedBy('b'));
    expect(await server.read('r')).toEqual(heldBy('b'));
  });

  it('is kept from others only while another program holds the key', async (server, master) => {
    await server.write('r', 'foreign', 60_000);
    expect(await master.acquire(sharedOf('a'), lasting)).toEqual(refusedBy('foreign'));
    await server.remove('r');
    expect(await master.acquire(sharedOf('a'), lasting)).toEqual(granted);
  });
}

/** How one holder of several ends, how the last, and what each leaves. */
function endings(it: Declare): void {
  it('is free when the last has released it, and not before', async (server, master) => {
    for (const value of ['a', 'b']) await master.acquire(sharedOf(value), lasting);
    expect(await master.release(sharedOf('a'), 0, null)).toEqual({ kind: 'released' });
    expect(await ask(server, claimOf('c'))).toEqual(refusedBy('shared'));
    expect(await master.release(sharedOf('b'), 0, null)).toEqual({ kind: 'released' });
    expect([await server.read('r'), await server.holders('r')]).toEqual([null, []]);
    expect(await ask(server, claimOf('c'))).toEqual(granted);
  });

  it('goes on for one when another has ended, and ends with the last', async (server, master) => {
    await master.acquire(sharedOf('a', { ttlMs: 500 }), lasting);
    await master.acquire(sharedOf('b', { ttlMs: 3_000 }), lasting);
    await server.pass(700);
    expect([await server.holders('r'), await server.read('r')]).toEqual([
      ['b'],
      heldBy('shared', 3_000),
    ]);
    expect(await master.extend(sharedOf('a'), null, lasting)).toEqual({ kind: 'missing' });
    await server.pass(2_500);
    expect(await server.read('r')).toBeNull();
  });

  it('extended by one: the key lasts as long as the last of them', async (server, master) => {
    await master.acquire(sharedOf('a', { ttlMs: 500 }), lasting);
    await master.acquire(sharedOf('b', { ttlMs: 500 }), lasting);
    expect(await master.extend(sharedOf('a', { ttlMs: 5_000 }), null, lasting)).toMatchObject({
      kind: 'extended',
    });
    await server.pass(650);
    expect([await server.holders('r'), await server.read('r')]).toEqual([
      ['a'],
      heldBy('shared', 5_000),
    ]);
  });

  it('extended to less than it had: the key ends with the last', async (server, master) => {
    for (const value of ['a', 'b']) await master.acquire(sharedOf(value), lasting);
    for (const value of ['a', 'b'])
      await master.extend(sharedOf(value, { ttlMs: 5_000 }), null, lasting);
    expect(await server.read('r')).toEqual(heldBy('shared', 5_000));
  });

  it('released by one to be kept for a while: stands for so long', async (server, master) => {
    for (const value of ['a', 'b']) await master.acquire(sharedOf(value), lasting);
    await master.release(sharedOf('a'), 5_000, null);
    expect([await server.holders('r'), await server.read('r')]).toEqual([
      ['a', 'b'],
      heldBy('shared'),
    ]);
    await master.release(sharedOf('b'), 0, null);
    expect([await server.holders('r'), await server.read('r')]).toEqual([
      ['a'],
      heldBy('shared', 5_000),
    ]);
  });

  it('counts for the fence as any other, and raises it', async (server, master) => {
    await server.setCounter('r', 41);
    expect(await master.acquire(sharedOf('a'), lasting)).toEqual({ kind: 'granted', fence: 42 });
    expect(await master.acquire(sharedOf('b'), lasting)).toEqual({ kind: 'granted', fence: 43 });
    await master.extend(sharedOf('a'), 50, lasting);
    await master.release(sharedOf('a'), 0, null);
    await master.release(sharedOf('b'), 0, null);
    expect(await master.acquire(claimOf('c'), lasting)).toEqual({ kind: 'granted', fence: 51 });
  });

  it('leaves a line in the history for each release with one', async (server, master) => {
    for (const value of ['a', 'b']) await master.acquire(sharedOf(value), lasting);
    for (const value of ['a', 'b']) await master.release(sharedOf(value), 0, `line of ${value}`);
    expect(await server.history('r')).toEqual(['line of a', 'line of b']);
  });
}

/** Where the master shows none of its holders any more, or another. */
function missing(it: Declare): void {
  it('whose key was deleted is gone for all, and stays so', async (server, master) => {
    for (const value of ['a', 'b']) await master.acquire(sharedOf(value), lasting);
    await server.remove('r');
    expect(await master.extend(sharedOf('a'), null, lasting)).toEqual({ kind: 'missing' });
    expect(await server.read('r')).toBeNull();
    await ask(server, sharedOf('c'));
    expect(await server.holders('r')).toEqual(['c']);
    expect(await master.extend(sharedOf('b'), null, lasting)).toEqual({ kind: 'missing' });
  });

  it('whose key was deleted is repaired for one, and for no other', async (server, master) => {
    for (const value of ['a', 'b']) await master.acquire(sharedOf(value), lasting);
    await server.remove('r');
    expect(await master.repair(sharedOf('a'), 9, lasting)).toEqual({ kind: 'repaired' });
    expect([await server.holders('r'), await server.read('r')]).toEqual([['a'], heldBy('shared')]);
  });

  it('is not repaired beside one that holds it alone', async (server, master) => {
    await master.acquire(claimOf('b'), lasting);
    expect(await master.repair(sharedOf('a'), 9, lasting)).toEqual({ kind: 'taken' });
    expect(await master.extend(sharedOf('a'), 9, lasting)).toEqual({ kind: 'taken' });
    expect([await server.holders('r'), await server.read('r')]).toEqual([[], heldBy('b')]);
  });

  it('that a server has forgotten is repaired for each holder', async (server, master) => {
    for (const value of ['a', 'b']) await master.acquire(sharedOf(value), lasting);
    await server.restart();
    for (const value of ['a', 'b']) await server.handle().repair(sharedOf(value), 9, lasting);
    expect([await server.holders('r'), await server.counter('r')]).toEqual([['a', 'b'], 9]);
  });
}
