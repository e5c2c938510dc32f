// A lock that several hold together: which holders may stand side by side, until when each of them
// does, and in which order waiters are woken. The server is in good health here.
//
// *Note:* the key itself shows no holder. It remains until the last holder ends; removing it ends
// all.

import { describe, expect, test } from 'vitest';
import type { Master } from '../../src/lock/ports.ts';
import {
  claimOf,
  earOf,
  heldBy,
  lasting,
  type Server,
  sharedOf,
  untilCalled,
  upTo,
  type World,
  waiting,
} from './world.ts';

const granted = expect.objectContaining({ kind: 'granted' });
const refusedBy = (holder: string) => expect.objectContaining({ kind: 'refused', holder });

export function shared(world: World): void {
  const it = (title: string, body: (server: Server, master: Master) => Promise<void>) =>
    test(title, () => world((server) => body(server, server.handle())));
  const ask = (server: Server, claim: ReturnType<typeof claimOf>) =>
    server.handle().acquire(claim, lasting);

  describe('a shared lock', () => {
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
      await server.write('r', 'foreign', 100);
      expect(await master.acquire(sharedOf('a'), lasting)).toEqual(refusedBy('foreign'));
      await server.pass(110);
      expect(await master.acquire(sharedOf('a'), lasting)).toEqual(granted);
    });

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
      expect([await server.holders('r'), await server.read('r')]).toEqual([
        ['a'],
        heldBy('shared'),
      ]);
    });

    it('is not repaired beside one who holds it alone', async (server, master) => {
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
  });

  describe('the queue of a shared lock', () => {
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
      for (const value of ['c', 'a', 'b'])
        expect(await ask(server, reader(value))).toEqual(granted);
    });

    it('wakes one shared claim after another, down to an exclusive one', async (server) => {
      await server.write('r', 'them', 300);
      const { counts, close } = await crowdOf(server, [
        reader('a'),
        reader('b'),
        writer('c'),
        reader('d'),
      ]);
      await server.pass(310);
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
      await master.release(sharedOf('a'), 300, null);
      await untilCalled(server, count);
      expect(await ask(server, writer('c'))).toMatchObject({
        kind: 'refused',
        remainingMs: upTo(300),
      });
      subscription.close();
    });

    it('wakes an exclusive claim when the last release comes, not a left one', async (server) => {
      const masters = { a: server.handle(), b: server.handle() };
      for (const [value, master] of Object.entries(masters))
        await master.acquire(sharedOf(value), lasting);
      await masters.a.release(sharedOf('a'), 300, null);
      const { counts, close } = await crowdOf(server, [writer('c')]);
      await masters.b.release(sharedOf('b'), 0, null);
      await untilCalled(server, () => counts()[0] ?? 0);
      expect(await ask(server, writer('c'))).toMatchObject({
        kind: 'refused',
        remainingMs: upTo(300),
      });
      close();
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

    it('our own value counts as ours, whatever is before us by now', async (server, master) => {
      await master.acquire(reader('b'), lasting);
      await ask(server, writer('a'));
      expect(await master.acquire(reader('b'), lasting)).toEqual(granted);
    });
  });
}
