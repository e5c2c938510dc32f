// A lock on several resources at once: all of them or none, in whichever order they are named. The
// server is in good health here.
//
// *Note:* several names are still single keys: a holder that has lost one of them holds none.

import { describe, expect } from 'vitest';
import {
  ask,
  claimOf,
  type Declare,
  earOf,
  granted,
  heldBy,
  lasting,
  type Server,
  sharedOf,
  testsOn,
  untilCalled,
  upTo,
  type World,
  waiting,
} from './world.ts';

const both = { resources: ['r', 's'] };
const reversed = { resources: ['s', 'r'] };
const ownership = async (server: Server) => [await server.read('r'), await server.read('s')];

export function several(world: World): void {
  const it = testsOn(world);

  describe('several resources', () => {
    together(it);
    traces(it);
  });
  describe('the queues of several resources', () => queues(it));
}

function together(it: Declare): void {
  it('are granted together', async (server, master) => {
    expect(await master.acquire(claimOf('a', both), lasting)).toEqual(granted);
    expect(await ownership(server)).toEqual([heldBy('a'), heldBy('a')]);
  });

  for (const [which, resource, blockedIndex] of [
    ['first', 'r', 0],
    ['second', 's', 1],
  ] as const) {
    it(`are refused together where the ${which} is held by another`, async (server) => {
      await server.write(resource, 'them', 5_000);
      const reply = await ask(server, claimOf('a', both));
      expect(reply).toMatchObject({
        kind: 'refused',
        holder: 'them',
        remainingMs: upTo(5_000),
        blockedIndex,
      });
      expect((await ownership(server)).filter((one) => one !== null)).toEqual([
        heldBy('them', 5_000),
      ]);
    });
  }

  it('are refused to the second that names them, in either order', async (server, master) => {
    await master.acquire(claimOf('a', both), lasting);
    for (const names of [both, reversed, { resources: ['r'] }, { resources: ['t', 's'] }]) {
      expect(await ask(server, claimOf('b', names))).toMatchObject({
        kind: 'refused',
        holder: 'a',
      });
    }
    expect([...(await ownership(server)), await server.read('t')]).toEqual([
      heldBy('a'),
      heldBy('a'),
      null,
    ]);
  });

  it('extended together, and not at all where one is gone or taken', async (server, master) => {
    await master.acquire(claimOf('a', both), lasting);
    const longer = claimOf('a', { ...both, ttlMs: 90_000 });
    expect(await master.extend(longer, null, lasting)).toMatchObject({ kind: 'extended' });
    expect(await ownership(server)).toEqual([heldBy('a', 90_000), heldBy('a', 90_000)]);
    await server.remove('s');
    const longest = claimOf('a', { ...both, ttlMs: 99_000 });
    expect(await master.extend(longest, null, lasting)).toEqual({ kind: 'missing' });
    await server.write('s', 'them', 5_000);
    expect(await master.extend(longest, null, lasting)).toEqual({ kind: 'taken' });
    expect(await ownership(server)).toEqual([heldBy('a', 90_000), heldBy('them', 5_000)]);
  });

  it('are repaired together, and not at all where one is taken', async (server, master) => {
    await master.acquire(claimOf('a', both), lasting);
    await server.remove('s');
    expect(await master.repair(claimOf('a', both), 9, lasting)).toEqual({ kind: 'repaired' });
    expect(await ownership(server)).toEqual([heldBy('a'), heldBy('a')]);
    await server.remove('r');
    await server.write('s', 'them', 5_000);
    expect(await master.repair(claimOf('a', both), 9, lasting)).toEqual({ kind: 'taken' });
    expect(await ownership(server)).toEqual([null, heldBy('them', 5_000)]);
  });

  it('released together, and the rest where another holder has one', async (server, master) => {
    await master.acquire(claimOf('a', both), lasting);
    expect(await master.release(claimOf('a', both), 0, null)).toEqual({ kind: 'released' });
    expect(await ownership(server)).toEqual([null, null]);
    await master.acquire(claimOf('b', both), lasting);
    await server.write('r', 'them', 5_000);
    expect(await master.release(claimOf('b', both), 0, null)).toEqual({ kind: 'released' });
    expect(await ownership(server)).toEqual([heldBy('them', 5_000), null]);
  });

  it('to be kept for a while stand for so long, each of them', async (server, master) => {
    await master.acquire(claimOf('a', both), lasting);
    await master.release(claimOf('a', both), 5_000, null);
    expect(await ownership(server)).toEqual([heldBy('a', 5_000), heldBy('a', 5_000)]);
  });
}

/** What a server keeps of them, and what it may forget. */
function traces(it: Declare): void {
  it('have one number for the fence, above those of all of them', async (server, master) => {
    await server.setCounter('r', 41);
    await server.setCounter('s', 70);
    expect(await master.acquire(claimOf('a', both), lasting)).toEqual({
      kind: 'granted',
      fence: 71,
    });
    expect([await server.counter('r'), await server.counter('s')]).toEqual([71, 71]);
    await master.extend(claimOf('a', both), 90, lasting);
    expect([await server.counter('r'), await server.counter('s')]).toEqual([90, 90]);
  });

  it('leave a line in the history of each', async (server, master) => {
    await master.acquire(claimOf('a', both), lasting);
    await master.release(claimOf('a', both), 0, 'first');
    expect([await server.history('r'), await server.history('s')]).toEqual([['first'], ['first']]);
  });

  it('that are shared: each with the others that share it', async (server, master) => {
    await master.acquire(sharedOf('a', both), lasting);
    expect(await ask(server, sharedOf('b', { resources: ['s', 't'] }))).toEqual(granted);
    await master.release(sharedOf('a', both), 0, null);
    expect([
      await server.holders('r'),
      await server.holders('s'),
      await server.holders('t'),
    ]).toEqual([[], ['b'], ['b']]);
  });

  it('that a server has forgotten are all repaired', async (server, master) => {
    await master.acquire(claimOf('a', both), lasting);
    await server.restart();
    expect(await server.handle().repair(claimOf('a', both), 9, lasting)).toEqual({
      kind: 'repaired',
    });
    expect(await ownership(server)).toEqual([heldBy('a'), heldBy('a')]);
  });
}

function queues(it: Declare): void {
  it('are entered together, and the place is the farther one', async (server, master) => {
    await master.acquire(claimOf('x', both), lasting);
    await ask(server, waiting(claimOf('a', { resources: ['s'] })));
    expect(await ask(server, waiting(claimOf('b', both)))).toMatchObject({
      kind: 'refused',
      position: 1,
    });
    expect(await ask(server, waiting(claimOf('c', { resources: ['r'] })))).toMatchObject({
      kind: 'refused',
      position: 1,
    });
  });

  it('let no later waiter pass, also where only the other is held', async (server, master) => {
    await master.acquire(claimOf('x', { resources: ['r'] }), lasting);
    await ask(server, waiting(claimOf('a', both)));
    expect(await ask(server, waiting(claimOf('b', { resources: ['s'] })))).toMatchObject({
      kind: 'refused',
      holder: '',
      position: 1,
    });
    const ahead = { kind: 'refused', holder: '', blockedIndex: 1 };
    expect(await ask(server, claimOf('c', { resources: ['t', 's'] }))).toMatchObject(ahead);
    expect(await server.read('s')).toBeNull();
  });

  it('are left together: the waiter first in each is woken', async (server, master) => {
    await master.acquire(claimOf('x', { resources: ['r'] }), lasting);
    const impatient = server.handle();
    await impatient.acquire(waiting(claimOf('a', both)), lasting);
    const claim = waiting(claimOf('b', { resources: ['s'] }));
    const { subscription, count } = await earOf(server, claim);
    await ask(server, claim);
    await impatient.release(waiting(claimOf('a', both)), 0, null);
    await untilCalled(server, count);
    expect(await ask(server, claim)).toEqual(granted);
    subscription.close();
  });

  it('call the first in line of each resource that is released', async (server, master) => {
    await master.acquire(claimOf('x', both), lasting);
    const claims = [
      waiting(claimOf('a', { resources: ['r'] })),
      waiting(claimOf('b', { resources: ['s'] })),
    ];
    const subscriptions = [];
    for (const claim of claims) {
      subscriptions.push(await earOf(server, claim));
      await ask(server, claim);
    }
    await master.release(claimOf('x', both), 0, null);
    for (const { count, subscription } of subscriptions) {
      await untilCalled(server, count);
      subscription.close();
    }
    for (const claim of claims) expect(await ask(server, claim)).toEqual(granted);
  });
}
