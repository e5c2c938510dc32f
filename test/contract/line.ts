// The queue that a master keeps for each resource: which waiters have a position, which one is
// granted a free resource, which one is woken. The part of the contract that makes waiting fair;
// nothing here keeps two from holding at once.
//
// *Note:* wake-ups are hints. A master must send them, and no waiter may rely on them.

import { describe, expect } from 'vitest';
import type { Master } from '../../src/lock/ports.ts';
import {
  claimOf,
  type Declare,
  earOf,
  lasting,
  type Server,
  testsOn,
  untilAnswered,
  untilCalled,
  type World,
} from './world.ts';

/** The claim of a waiter. Arrivals are by the letter of the value: `a` came first. */
const waiterOf = (value: string) =>
  claimOf(value, { waiter: { id: `id ${value}`, arrivalUs: value.charCodeAt(0) } });
const inLine = (position: number | null, holder = 'them') =>
  expect.objectContaining({ kind: 'refused', holder, position });
const ask = (master: Master, value: string) => master.acquire(waiterOf(value), lasting);
const behindOthers = (position: number | null) => inLine(position, '');

export function line(world: World): void {
  const it = testsOn(world);

  describe('the queue', () => queue(it));
  describe('the call', () => call(it));
}

function queue(it: Declare): void {
  it('a waiter is told its position: by arrival, not by request', async (server, master) => {
    await server.write('r', 'them', 60_000);
    expect(await ask(master, 'b')).toEqual(inLine(0));
    expect(await ask(master, 'a')).toEqual(inLine(0));
    expect(await ask(master, 'c')).toEqual(inLine(2));
    expect(await ask(master, 'b')).toEqual(inLine(1));
  });

  it('a free resource is granted to the first alone', async (server, master) => {
    await server.write('r', 'them', 60_000);
    for (const value of ['a', 'b']) expect((await ask(master, value)).kind).toBe('refused');
    await server.remove('r');
    expect(await ask(master, 'b')).toEqual(behindOthers(1));
    expect(await master.acquire(claimOf('not waiting'), lasting)).toEqual(behindOthers(null));
    expect(await ask(master, 'a')).toMatchObject({ kind: 'granted' });
    expect(await ask(master, 'b')).toEqual(inLine(0, 'a'));
  });

  it('a client that does not wait takes no position', async (server, master) => {
    await server.write('r', 'them', 60_000);
    expect(await master.acquire(claimOf('not waiting'), lasting)).toEqual(inLine(null));
    await server.remove('r');
    expect(await ask(master, 'b')).toMatchObject({ kind: 'granted' });
  });

  it('our own value counts as ours, whatever is before us by now', async (server, master) => {
    await ask(master, 'b');
    expect(await ask(server.handle(), 'a')).toEqual(inLine(0, 'b'));
    expect(await ask(master, 'b')).toMatchObject({ kind: 'granted' });
  });

  it('a grant that is rolled back keeps the position, a release not', async (server, master) => {
    const other = server.handle();
    await ask(master, 'a');
    expect(await master.rollback(waiterOf('a'))).toEqual({ kind: 'released' });
    expect(await server.read('r')).toBeNull();
    expect(await ask(other, 'b')).toEqual(behindOthers(1));
    await master.release(waiterOf('a'), 0, null);
    expect(await ask(other, 'b')).toMatchObject({ kind: 'granted' });
  });

  it('leaving the queue gives up the position, and wakes the next', async (server, master) => {
    await server.write('r', 'them', 60_000);
    await ask(master, 'a');
    const { subscription, count } = await earOf(server, waiterOf('b'));
    expect(await ask(server.handle(), 'b')).toEqual(inLine(1));
    await master.dequeue(waiterOf('a'));
    await untilCalled(server, count);
    expect(await ask(server.handle(), 'b')).toEqual(inLine(0));
    expect((await server.read('r'))?.value).toBe('them');
    subscription.close();
  });

  it('leaving the queue leaves a key alone that holds nothing', async (server, master) => {
    await server.write('r', '', 60_000);
    await ask(master, 'a');
    await master.dequeue(waiterOf('a'));
    expect(await server.read('r')).toMatchObject({ value: '' });
  });

  it('leaving the queue keeps what is held', async (server, master) => {
    await ask(master, 'a');
    await master.dequeue(waiterOf('a'));
    expect((await server.read('r'))?.value).toBe('a');
    expect(await master.release(waiterOf('a'), 0, null)).toEqual({ kind: 'released' });
  });

  it('giving back touches no value but ours', async (server, master) => {
    await ask(master, 'a');
    await server.write('r', 'them', 60_000);
    expect(await master.rollback(waiterOf('a'))).toEqual({ kind: 'taken' });
    expect((await server.read('r'))?.value).toBe('them');
  });

  it('a waiter silent for three seconds loses its position', async (server, master) => {
    await server.write('r', 'them', 3_400);
    await ask(master, 'a');
    await server.pass(2_000);
    expect(await ask(master, 'b')).toEqual(inLine(1));
    await server.pass(1_500);
    expect(await ask(master, 'b')).toMatchObject({ kind: 'granted' });
  });

  it('another resource has another queue', async (server, master) => {
    await server.write('r', 'them', 60_000);
    await ask(master, 'a');
    const elsewhere = { ...waiterOf('b'), resources: ['s'] };
    expect(await master.acquire(elsewhere, lasting)).toMatchObject({ kind: 'granted' });
  });
}

function call(it: Declare): void {
  const earFor = (server: Server, value: string) => earOf(server, waiterOf(value));

  it('reaches the first in line alone, when the holder releases', async (server, master) => {
    const [first, second] = [await earFor(server, 'b'), await earFor(server, 'c')];
    await ask(master, 'a');
    for (const value of ['c', 'b']) await ask(server.handle(), value);
    await master.release(waiterOf('a'), 0, null);
    await untilCalled(server, first.count);
    await server.pass(50);
    expect([first.count(), second.count()]).toEqual([1, 0]);
    for (const { subscription } of [first, second]) subscription.close();
  });

  it('comes when a key left for a while is, and when it is free', async (server, master) => {
    const second = await earFor(server, 'b');
    await ask(master, 'a');
    await ask(server.handle(), 'b');
    await master.release(waiterOf('a'), 200, null);
    await untilCalled(server, second.count);
    await server.pass(600);
    expect((await ask(server.handle(), 'c')).kind).toBe('refused');
    await server.pass(50);
    expect(second.count()).toBe(2);
    second.subscription.close();
  });

  it('goes to the next one where the first in line does not hear it', async (server, master) => {
    const third = await earFor(server, 'd');
    await ask(master, 'a');
    for (const value of ['b', 'c', 'd']) await ask(server.handle(), value);
    await master.release(waiterOf('a'), 0, null);
    await untilCalled(server, third.count);
    expect((await ask(server.handle(), 'd')).kind).toBe('granted');
    third.subscription.close();
  });

  it('is not heard any more by an ear that was closed', async (server, master) => {
    const first = await earFor(server, 'b');
    await ask(master, 'a');
    await ask(server.handle(), 'b');
    first.subscription.close();
    await server.pass(50);
    await master.release(waiterOf('a'), 0, null);
    await server.pass(50);
    expect(first.count()).toBe(0);
  });

  it('cannot be listened for on an unreachable server: no error', async (server, master) => {
    await server.unplug();
    expect(await master.subscribe(['r'], 'a', () => {})).toMatchObject({
      kind: 'failed',
      cause: 'connection',
    });
    await server.restore();
    await untilAnswered(server, () => master.extend(claimOf('a'), null, lasting));
  });
}
