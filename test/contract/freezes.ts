// A frozen resource as a master shows it: no new holder, whatever the form of the lock; the present
// one goes on; waiters keep their position and are woken by the thaw.

import { describe, expect } from 'vitest';
import {
  claimOf,
  earOf,
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

export function freezes(world: World): void {
  const it = testsOn(world);

  describe('frozen', () => {
    it('no new holder, exclusive, shared or on a slot: refused with it', async (server, master) => {
      expect(await server.freezeLock('r', 'f', 0)).toEqual({ kind: 'frozen' });
      for (const claim of [claimOf('a'), sharedOf('b'), slotOf('c', 1)]) {
        expect(await master.acquire(claim, lasting)).toMatchObject({
          kind: 'refused',
          holder: 'f',
          remainingMs: null,
        });
      }
      expect(await server.read('r')).toBe(null);
      expect(await server.counter('r')).toBe(null);
    });

    it('the freeze is told, and not the present holder', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      await server.freezeLock('r', 'f', 5_000);
      expect(await server.handle().acquire(claimOf('b'), lasting)).toMatchObject({ holder: 'f' });
      expect(await server.look('r')).toMatchObject([
        { value: 'a', freeze: { value: 'f', remainingMs: upTo(5_000) } },
      ]);
    });

    it('the holder is extended, repaired, granted again and released', async (server, master) => {
      const shared = sharedOf('s', { resources: ['q'] });
      for (const claim of [claimOf('a'), shared]) {
        const resource = claim.resources[0] ?? '';
        await master.acquire(claim, lasting);
        await server.freezeLock(resource, 'f', 0);
        expect(await master.extend(claim, null, lasting)).toMatchObject({ kind: 'extended' });
        expect(await master.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
        if (claim !== shared) await server.remove(resource);
        expect(await master.repair(claim, null, lasting)).toEqual({ kind: 'repaired' });
        if (claim !== shared) expect(await server.read(resource)).toEqual(heldBy('a'));
        expect(await master.release(claim, 0, null)).toEqual({ kind: 'released' });
        expect(await server.read(resource)).toBe(null);
      }
    });

    it('one of several names is enough', async (server, master) => {
      await server.freezeLock('s', 'f', 0);
      const both = claimOf('a', { resources: ['r', 's'] });
      const frozen = { kind: 'refused', holder: 'f', blockedIndex: 1 };
      expect(await master.acquire(both, lasting)).toMatchObject(frozen);
      await server.write('r', 'them', 5_000);
      expect(await server.handle().acquire(both, lasting)).toMatchObject(frozen);
      await server.remove('r');
      expect(await server.read('r')).toBe(null);
    });

    it('a waiter keeps its position, and the thaw wakes the first one', async (server, master) => {
      await server.freezeLock('r', 'f', 0);
      const [first, second] = [waiting(claimOf('a')), waiting(claimOf('b'))];
      const ear = await earOf(server, first);
      expect(await master.acquire(first, lasting)).toMatchObject({ holder: 'f', position: 0 });
      expect(await master.acquire(second, lasting)).toMatchObject({ holder: 'f', position: 1 });
      expect(await server.thawLock('r', 'f')).toEqual({ kind: 'released' });
      await untilCalled(server, ear.count);
      expect(await master.acquire(first, lasting)).toMatchObject({ kind: 'granted' });
    });

    it('a waiter that wants the holder replaced is not entered', async (server, master) => {
      const holder = claimOf('a', { preemptible: 'replace' });
      await master.acquire(holder, lasting);
      await server.freezeLock('r', 'f', 0);
      const newer = waiting(claimOf('b', { preemptible: 'replace' }));
      expect(await server.handle().acquire(newer, lasting)).toMatchObject({ position: null });
      const extended = await master.extend(holder, null, lasting);
      expect(extended).toMatchObject({ kind: 'extended' });
      expect(extended).not.toHaveProperty('replacedBy');
    });

    it('another freeze is refused, and only the very one is thawed', async (server) => {
      await server.freezeLock('r', 'f', 0);
      expect(await server.freezeLock('r', 'g', 0)).toEqual({ kind: 'taken', standing: 'f' });
      expect(await server.thawLock('r', 'g')).toEqual({ kind: 'taken' });
      expect(await server.thawLock('r', 'f')).toEqual({ kind: 'released' });
      expect(await server.thawLock('r', 'f')).toEqual({ kind: 'missing' });
    });

    it('it ends by itself', async (server, master) => {
      await server.freezeLock('r', 'f', 30);
      await server.pass(40);
      expect(await master.acquire(claimOf('a'), lasting)).toMatchObject({ kind: 'granted' });
    });
  });
}
