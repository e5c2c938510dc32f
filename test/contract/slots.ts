// A lock with so many slots, each with one holder: which claim gets which slot, what a claim for
// a taken slot is told, and which waiter is woken when one is free. The server is healthy here.
// *Note:* a master never counts holders, because it would have to agree with the others on them.
// Each claim names the slot that it wants, and asks again for another.

import { describe, expect } from 'vitest';
import {
  ask,
  claimOf,
  type Declare,
  earOf,
  granted,
  heldBy,
  lasting,
  sharedOf,
  slotOf,
  testsOn,
  untilCalled,
  upTo,
  type World,
  waiting,
} from './world.ts';

export function slots(world: World): void {
  const it = testsOn(world);

  describe('a slot', () => {
    holders(it);
    over(it);
  });
  describe('the queue of slots', () => queue(it));
}

function holders(it: Declare): void {
  it('is held by one, the next one by another', async (server, master) => {
    expect(await master.acquire(slotOf('a', 1), lasting)).toEqual(granted);
    expect(await ask(server, slotOf('b', 2))).toEqual(granted);
    expect([await server.holders('r'), await server.read('r')]).toEqual([
      ['1 a', '2 b'],
      heldBy('slots 2'),
    ]);
  });

  it('that is taken: refused, and told which ones are free', async (server, master) => {
    await master.acquire(slotOf('a', 2, 3), lasting);
    expect(await ask(server, slotOf('b', 2, 3))).toMatchObject({
      kind: 'refused',
      holder: 'slots 3',
      freeSlots: [1, 3],
    });
    expect(await server.holders('r')).toEqual(['2 a']);
  });

  it('that there is not: refused and not repaired', async (server, master) => {
    for (const slot of [0, 4]) {
      const freeSlots = [1, 2, 3];
      expect(await master.acquire(slotOf('a', slot, 3), lasting)).toMatchObject({
        kind: 'refused',
        freeSlots,
      });
      expect(await master.repair(slotOf('a', slot, 3), null, lasting)).toEqual({ kind: 'taken' });
    }
    expect(await server.read('r')).toBeNull();
  });

  it('of which none is free: refused, until the first of them ends', async (server, master) => {
    await master.acquire(slotOf('a', 1, 2, { ttlMs: 5_000 }), lasting);
    await ask(server, slotOf('b', 2, 2));
    const reply = await ask(server, slotOf('c', 2, 2));
    expect(reply).toMatchObject({ kind: 'refused', holder: 'slots 2', remainingMs: upTo(5_000) });
    expect(reply).not.toHaveProperty('freeSlots');
  });

  it('of another number: refused, however many are free', async (server, master) => {
    await master.acquire(slotOf('a', 1, 3), lasting);
    const reply = await ask(server, slotOf('b', 2, 2));
    expect(reply).toMatchObject({
      kind: 'refused',
      holder: 'slots 3',
      remainingMs: upTo(60_000),
    });
    expect(reply).not.toHaveProperty('freeSlots');
  });

  it('excludes exclusive and shared claims, and they exclude it', async (server, master) => {
    await master.acquire(slotOf('a', 1), lasting);
    for (const other of [claimOf('b'), sharedOf('c')]) {
      expect(await ask(server, other)).toMatchObject({ kind: 'refused', holder: 'slots 2' });
    }
    await master.release(slotOf('a', 1), 0, null);
    await master.acquire(sharedOf('c'), lasting);
    expect(await ask(server, slotOf('a', 1))).toMatchObject({
      kind: 'refused',
      holder: 'shared',
    });
  });

  it('asked for under several names: taken under all of them', async (server, master) => {
    await master.acquire(slotOf('a', 1, 2, { resources: ['r'] }), lasting);
    await master.acquire(slotOf('b', 2, 2, { resources: ['s'] }), lasting);
    for (const slot of [1, 2]) {
      const reply = await ask(server, slotOf('c', slot, 2, { resources: ['r', 's'] }));
      expect(reply).toMatchObject({ kind: 'refused', holder: 'slots 2' });
    }
    expect([await server.holders('r'), await server.holders('s')]).toEqual([['1 a'], ['2 b']]);
  });
}

/** Once its holder has released it, has ended, or is not shown any more. */
function over(it: Declare): void {
  it('that was released is free, and the lock after the last one', async (server, master) => {
    for (const slot of [1, 2]) await master.acquire(slotOf(`a${slot}`, slot), lasting);
    await master.release(slotOf('a1', 1), 0, null);
    expect(await ask(server, slotOf('b', 1))).toEqual(granted);
    expect(await server.holders('r')).toEqual(['1 b', '2 a2']);
    await master.release(slotOf('a2', 2), 0, null);
    expect([await server.holders('r'), await server.read('r')]).toEqual([
      ['1 b'],
      heldBy('slots 2'),
    ]);
  });

  it('is free again after its end, while another goes on', async (server, master) => {
    await master.acquire(slotOf('a', 1, 2, { ttlMs: 500 }), lasting);
    await master.acquire(slotOf('b', 2), lasting);
    await server.pass(650);
    expect(await ask(server, slotOf('c', 1))).toEqual(granted);
    expect(await master.extend(slotOf('a', 1), null, lasting)).toEqual({ kind: 'taken' });
    expect(await server.holders('r')).toEqual(['1 c', '2 b']);
  });

  it('that has ended: missing, and repaired where no other has it', async (server, master) => {
    await master.acquire(slotOf('a', 1, 2, { ttlMs: 500 }), lasting);
    await master.acquire(slotOf('b', 2), lasting);
    await server.pass(650);
    expect(await master.extend(slotOf('a', 1), null, lasting)).toEqual({ kind: 'missing' });
    expect(await master.repair(slotOf('a', 1), null, lasting)).toEqual({ kind: 'repaired' });
    expect(await server.holders('r')).toEqual(['1 a', '2 b']);
  });

  it('that another has by now: not extended, repaired or released', async (server, master) => {
    await master.acquire(slotOf('a', 1, 2, { ttlMs: 50 }), lasting);
    await server.pass(60);
    await ask(server, slotOf('b', 1));
    expect(await master.extend(slotOf('a', 1), 9, lasting)).toEqual({ kind: 'taken' });
    expect(await master.repair(slotOf('a', 1), 9, lasting)).toEqual({ kind: 'taken' });
    expect(await master.release(slotOf('a', 1), 0, null)).toEqual({ kind: 'taken' });
    expect(await server.holders('r')).toEqual(['1 b']);
  });

  it('whose key was deleted: gone for all, and stays so', async (server, master) => {
    for (const slot of [1, 2]) await master.acquire(slotOf(`a${slot}`, slot), lasting);
    await server.remove('r');
    expect(await ask(server, slotOf('b', 1))).toEqual(granted);
    expect(await server.holders('r')).toEqual(['1 b']);
    expect(await master.extend(slotOf('a2', 2), null, lasting)).toEqual({ kind: 'missing' });
  });
}

function queue(it: Declare): void {
  const waiter = (value: string, slot: number) => waiting(slotOf(value, slot));

  it('wakes the first in the queue when a slot is free, and tells which', async (server) => {
    const masters = [server.handle(), server.handle()];
    for (const [index, master] of masters.entries())
      await master.acquire(slotOf(`x${index + 1}`, index + 1), lasting);
    const subscriptions = [];
    for (const value of ['a', 'b']) {
      subscriptions.push(await earOf(server, waiter(value, 1)));
      expect(await ask(server, waiter(value, 1))).toMatchObject({
        kind: 'refused',
        holder: 'slots 2',
      });
    }
    const [first, second] = subscriptions.map(({ count }) => count) as [() => number, () => number];
    await masters[1]?.release(slotOf('x2', 2), 0, null);
    await untilCalled(server, first);
    expect(await ask(server, waiter('a', 1))).toMatchObject({ kind: 'refused', freeSlots: [2] });
    expect(await ask(server, waiter('a', 2))).toEqual(granted);
    await server.pass(50);
    expect(second()).toBe(0);
    for (const { subscription } of subscriptions) subscription.close();
  });

  it('wakes the next one when there is another slot for it', async (server, master) => {
    await master.acquire(claimOf('x'), lasting);
    const { subscription, count } = await earOf(server, waiter('b', 2));
    for (const value of ['a', 'b']) await ask(server, waiter(value, 2));
    await master.release(claimOf('x'), 0, null);
    expect(await ask(server, waiter('a', 2))).toEqual(granted);
    await untilCalled(server, count);
    expect(await ask(server, waiter('b', 1))).toEqual(granted);
    subscription.close();
  });

  it('lets no later waiter pass, although there is a slot', async (server, master) => {
    for (const slot of [1, 2]) await master.acquire(slotOf(`x${slot}`, slot), lasting);
    const { subscription } = await earOf(server, waiter('a', 1));
    await ask(server, waiter('a', 1));
    await master.release(slotOf('x2', 2), 0, null);
    expect(await ask(server, waiter('b', 2))).toMatchObject({
      kind: 'refused',
      holder: '',
      position: 1,
    });
    expect(await ask(server, slotOf('c', 2))).toMatchObject({
      kind: 'refused',
      holder: '',
      position: null,
    });
    expect(await server.holders('r')).toEqual(['1 x1']);
    subscription.close();
  });
}
