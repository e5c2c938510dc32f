// The queue of a lock that several hold together: which waiters may pass one another, and which of
// them are woken. The server is in good health here.

import { describe, expect } from 'vitest';
import {
  ask,
  claimOf,
  type Declare,
  earOf,
  granted,
  lasting,
  type Server,
  sharedOf,
  untilCalled,
  upTo,
  waiting,
} from './world.ts';

const reader = (value: string) => waiting(sharedOf(value));
const writer = (value: string) => waiting(claimOf(value));
/** All of them wait, in this order; how often each has been called. */
const crowdOf = async (server: Server, claims: readonly ReturnType<typeof claimOf>[]) => {
  const subscriptions: Awaited<ReturnType<typeof earOf>>[] = [];
  for (const claim of claims) {
    subscriptions.push(await earOf(server, claim));
    await ask(server, claim);
  }
  return {
    counts: () => subscriptions.map(({ count }) => count()),
    close: () => subscriptions.map(({ subscription }) => subscription.close()),
  };
};

export function sharedQueue(it: Declare): void {
  describe('the queue of a shared lock', () => {
    order(it);
    sharedWoken(it);
    exclusiveWoken(it);
  });
}

function order(it: Declare): void {
  it('lets no shared claim pass an exclusive one', async (server, master) => {
    await master.acquire(sharedOf('a'), lasting);
    expect(await ask(server, writer('b'))).toMatchObject({
      kind: 'refused',
      holder: 'shared',
      position: 0,
    });
    expect(await ask(server, reader('c'))).toMatchObject({
      kind: 'refused',
      holder: '',
      position: 1,
    });
    expect(await ask(server, sharedOf('d'))).toMatchObject({
      kind: 'refused',
      holder: '',
      position: null,
    });
    expect(await server.holders('r')).toEqual(['a']);
  });

  it('lets shared claims pass one another in the queue', async (server, master) => {
    await master.acquire(claimOf('x'), lasting);
    for (const value of ['a', 'b', 'c']) await ask(server, reader(value));
    await master.release(claimOf('x'), 0, null);
    for (const value of ['c', 'a', 'b']) expect(await ask(server, reader(value))).toEqual(granted);
  });

  it('our own value counts as ours, whatever is before us by now', async (server, master) => {
    await master.acquire(reader('b'), lasting);
    await ask(server, writer('a'));
    expect(await master.acquire(reader('b'), lasting)).toEqual(granted);
  });
}

function sharedWoken(it: Declare): void {
  it('wakes one shared claim after another, down to an exclusive one', async (server) => {
    await server.write('r', 'them', 60_000);
    const { counts, close } = await crowdOf(server, [
      reader('a'),
      reader('b'),
      writer('c'),
      reader('d'),
    ]);
    await server.remove('r');
    expect(await ask(server, reader('a'))).toEqual(granted);
    await untilCalled(server, () => counts()[1] ?? 0);
    expect(await ask(server, reader('b'))).toEqual(granted);
    await server.pass(50);
    expect(counts()).toEqual([0, 1, 0, 0]);
    close();
  });

  for (const [what, holder] of [
    ['an exclusive one', claimOf('x')],
    ['an exclusive one of several names', claimOf('x', { resources: ['r', 's'] })],
  ] as const) {
    it(`wakes the shared ones at the front on release: ${what}`, async (server, master) => {
      await master.acquire(holder, lasting);
      const { counts, close } = await crowdOf(server, [
        reader('a'),
        reader('b'),
        writer('c'),
        reader('d'),
      ]);
      await master.release(holder, 0, null);
      await untilCalled(server, () => counts()[1] ?? 0);
      expect(counts()).toEqual([1, 1, 0, 0]);
      close();
    });

    it(`wakes the first alone when it is left for a while: ${what}`, async (server, master) => {
      await master.acquire(holder, lasting);
      const { counts, close } = await crowdOf(server, [reader('a'), reader('b')]);
      await master.release(holder, 5_000, null);
      await untilCalled(server, () => counts()[0] ?? 0);
      expect(counts()).toEqual([1, 0]);
      close();
    });
  }

  it('wakes shared claims when the one between them gives up', async (server, master) => {
    await master.acquire(claimOf('x', { resources: ['s'] }), lasting);
    const blocked = waiting(sharedOf('a', { resources: ['r', 's'] }));
    const between = server.handle();
    const first = await earOf(server, blocked);
    await ask(server, blocked);
    for (const claim of [writer('b'), waiting(claimOf('b', { preemptible: 'supersede' }))]) {
      await between.acquire(claim, lasting);
      const { counts, close } = await crowdOf(server, [reader('c')]);
      await between.release(claim, 0, null);
      await untilCalled(server, () => counts()[0] ?? 0);
      close();
    }
    expect(await ask(server, reader('c'))).toEqual(granted);
    first.subscription.close();
  });

  it('wakes shared claims when an exclusive one before gives up', async (server, master) => {
    await master.acquire(sharedOf('a'), lasting);
    const impatient = server.handle();
    await impatient.acquire(writer('b'), lasting);
    const { subscription, count } = await earOf(server, reader('c'));
    await ask(server, reader('c'));
    await impatient.release(writer('b'), 0, null);
    await untilCalled(server, count);
    expect(await ask(server, reader('c'))).toEqual(granted);
    subscription.close();
  });
}

function exclusiveWoken(it: Declare): void {
  it('wakes an exclusive claim only when the last has gone', async (server) => {
    const masters = { a: server.handle(), b: server.handle() };
    for (const [value, master] of Object.entries(masters))
      await master.acquire(sharedOf(value), lasting);
    await masters.b.extend(sharedOf('b', { ttlMs: 70_000 }), null, lasting);
    const { subscription, count } = await earOf(server, writer('c'));
    await ask(server, writer('c'));
    await masters.a.release(sharedOf('a'), 0, null);
    await server.pass(50);
    expect(count()).toBe(0);
    await masters.b.release(sharedOf('b'), 0, null);
    await untilCalled(server, count);
    expect(await ask(server, writer('c'))).toEqual(granted);
    subscription.close();
  });

  it('wakes an exclusive claim when the last leaves it for a while', async (server, master) => {
    await master.acquire(sharedOf('a'), lasting);
    const { subscription, count } = await earOf(server, writer('c'));
    await ask(server, writer('c'));
    await master.release(sharedOf('a'), 60_000, null);
    await untilCalled(server, count);
    expect(await ask(server, writer('c'))).toMatchObject({
      kind: 'refused',
      remainingMs: upTo(60_000),
    });
    subscription.close();
  });

  it('wakes an exclusive claim when the last release comes, not a left one', async (server) => {
    const masters = { a: server.handle(), b: server.handle() };
    for (const [value, master] of Object.entries(masters))
      await master.acquire(sharedOf(value), lasting);
    await masters.a.release(sharedOf('a'), 2_000, null);
    const { counts, close } = await crowdOf(server, [writer('c')]);
    await masters.b.release(sharedOf('b'), 0, null);
    await untilCalled(server, () => counts()[0] ?? 0);
    expect(await ask(server, writer('c'))).toMatchObject({
      kind: 'refused',
      remainingMs: upTo(2_000),
    });
    close();
  });
}
