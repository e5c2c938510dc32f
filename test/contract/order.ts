// That calls on one master keep their order, and that a call which is no longer wanted is not made.
// Everything that undoes something relies on it.
//
// *Note:* order holds while there is no connection yet, too. A release must not be answered
// "nothing there" while the acquire that it undoes still waits for a connection.

import { describe, expect } from 'vitest';
import { claimOf, heldBy, lasting, testsOn, type World } from './world.ts';

export function order(world: World): void {
  const it = testsOn(world);

  describe('order', () => {
    it('calls made without waiting take effect in their order', async (server, master) => {
      await master.acquire(claimOf('a', { resources: ['s'] }), lasting);
      const replies = [
        master.acquire(claimOf('a'), lasting),
        master.extend(claimOf('a'), null, lasting),
        master.release(claimOf('a'), 0, null),
        master.acquire(claimOf('b'), lasting),
      ];
      const kinds = (await Promise.all(replies)).map(({ kind }) => kind);
      expect(kinds).toEqual(['granted', 'extended', 'released', 'granted']);
      expect(await server.read('r')).toEqual(heldBy('b'));
    });

    it('a release undoes an earlier acquire, also while connecting', async (server, master) => {
      const replies = [
        master.acquire(claimOf('a'), lasting),
        master.release(claimOf('a'), 0, null),
        master.acquire(claimOf('b'), lasting),
      ];
      expect((await Promise.all(replies)).at(-1)).toMatchObject({ kind: 'granted' });
      expect(await server.read('r')).toEqual(heldBy('b'));
    });

    it('an extension never follows the release made after it', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      for (let count = 0; count < 30; count += 1) {
        await master.acquire(claimOf(`a${count}`), lasting);
        await Promise.all([
          master.extend(claimOf('a'), null, lasting),
          master.repair(claimOf('a'), null, lasting),
          master.release(claimOf('a'), 0, null),
        ]);
        expect(await server.read('r')).toBeNull();
        await master.acquire(claimOf('a'), lasting);
      }
    });
  });

  describe('a call that is withdrawn', () => {
    const withdrawn = AbortSignal.abort();

    it('before it was made: fails, and is not sent', async (server, master) => {
      expect(await master.acquire(claimOf('a'), withdrawn)).toMatchObject({ kind: 'failed' });
      expect(await master.repair(claimOf('a'), null, withdrawn)).toMatchObject({ kind: 'failed' });
      await server.pass(50);
      expect(await server.read('r')).toBeNull();
    });

    it('before there was a connection: fails, and is never sent', async (server, master) => {
      await server.freeze();
      const caller = new AbortController();
      const reply = master.acquire(claimOf('a'), caller.signal);
      caller.abort();
      await server.thaw();
      expect(await reply).toMatchObject({ kind: 'failed' });
      await server.pass(50);
      expect(await server.read('r')).toBeNull();
    });

    it('after it was sent: done, and the release undoes it', async (server, master) => {
      await master.acquire(claimOf('a', { resources: ['s'] }), lasting);
      await server.freeze();
      const caller = new AbortController();
      const replies = [
        master.acquire(claimOf('a'), caller.signal),
        master.release(claimOf('a'), 0, null),
      ];
      caller.abort();
      await server.thaw();
      await Promise.all(replies);
      expect(await server.read('r')).toBeNull();
    });
  });
}
