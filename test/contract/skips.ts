// A run that is refused and does not wait leaves a count for its host, and one that is granted the
// lock after all takes it back.

import { describe, expect } from 'vitest';
import type { Master } from '../../src/lock/ports.ts';
import type { Claim } from '../../src/lock/types.ts';
import { endOf } from './looks.ts';
import { claimOf, lasting, type Server, sharedOf, testsOn, type World } from './world.ts';

export function skips(world: World): void {
  const it = testsOn(world);
  const skipping = (value: string, run = value, isRepeated = false, host = 'web1') =>
    claimOf(value, { skip: { line: '{}', host, run, isRepeated } });

  describe('a run that does not wait', () => {
    it('is counted for its host when refused, once in all attempts', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      await master.acquire(skipping('b', 'one'), lasting);
      await master.acquire(skipping('c', 'one', true), lasting);
      await master.acquire(skipping('d', 'two'), lasting);
      await master.acquire(skipping('e', 'three', false, 'web2'), lasting);
      expect(await server.skips('r')).toEqual({ web1: 2, web2: 1 });
    });

    it('is not counted when granted, also if it was refused before', async (server, master) => {
      await master.acquire(skipping('a'), lasting);
      await master.acquire(skipping('b'), lasting);
      await master.acquire(skipping('c'), lasting);
      await master.release(claimOf('a'), 0, null);
      await master.acquire(skipping('d', 'c', true), lasting);
      expect(await server.skips('r')).toEqual({ web1: 1 });
      await master.release(claimOf('d'), 0, null);
      await master.acquire(skipping('e', 'b', true), lasting);
      expect(await server.skips('r')).toEqual({ web1: 1 });
    });

    it('leaves nothing where the claim says nothing', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      await master.acquire(claimOf('b'), lasting);
      expect(await server.skips('r')).toEqual({});
    });

    const ofHundredHosts = async (server: Server, master: Master) => {
      await master.acquire(claimOf('a'), lasting);
      const hosts = (from: number, to: number) =>
        Array.from({ length: to - from + 1 }, (_, index) => `web${from + index}`);
      const come = async (some: readonly string[]) => {
        await server.pass(5);
        for (const host of some)
          await master.acquire(skipping(`b${host}`, crypto.randomUUID(), false, host), lasting);
      };
      await come(hosts(1, 100));
      expect(Object.keys(await server.skips('r'))).toHaveLength(100);
      await come(['web1']);
      await come(hosts(101, 120));
      const counts = await server.skips('r');
      expect(Object.keys(counts)).toHaveLength(100);
      expect(counts).toMatchObject({ web1: 2 });
      expect(Object.keys(counts)).toEqual(expect.arrayContaining(hosts(101, 120)));
    };
    it('is counted for the hundred hosts that came last', ofHundredHosts);

    it('is so too where a run has succeeded before', async (server, master) => {
      await master.acquire(claimOf('z'), lasting);
      await master.release(claimOf('z'), 0, endOf('z'));
      await ofHundredHosts(server, master);
    });

    it('and asks for several resources is counted for each', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      const both = { ...skipping('b'), resources: ['r', 's'] };
      await master.acquire(both, lasting);
      expect([await server.skips('r'), await server.skips('s')]).toEqual([
        { web1: 1 },
        { web1: 1 },
      ]);
    });

    it('and would share is counted as well', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      const { skip } = skipping('b');
      await master.acquire(sharedOf('b', skip ? { skip } : {}), lasting);
      expect(await server.skips('r')).toEqual({ web1: 1 });
    });
  });
}

/** What a run leaves that has acquired the lock, until its end. */
export function starts(world: World): void {
  const it = testsOn(world);
  const starting = (value: string, changes: Partial<Claim> = {}) =>
    claimOf(value, { start: { token: value, line: `{"${value}"}` }, ...changes });

  describe('a run that begins', () => {
    it('stands there until its line comes, and not beside it', async (server, master) => {
      await master.acquire(starting('a'), lasting);
      expect([await server.starts('r'), await server.history('r')]).toEqual([{ a: '{"a"}' }, []]);
      await master.release(starting('a'), 0, endOf('a'));
      expect([await server.starts('r'), await server.history('r')]).toEqual([{}, [endOf('a')]]);
    });

    for (const [what, undo] of [
      ['a rollback', (master: Master) => master.rollback(starting('a'))],
      ['a release without a line', (master: Master) => master.release(starting('a'), 0, null)],
    ] as const) {
      it(`is forgotten by ${what}`, async (server, master) => {
        await master.acquire(starting('a'), lasting);
        await undo(master);
        expect([await server.starts('r'), await server.history('r')]).toEqual([{}, []]);
        expect(await server.read('r')).toBeNull();
      });
    }

    it('stands there when its key has expired, beside a later one', async (server, master) => {
      await master.acquire(starting('a', { ttlMs: 50 }), lasting);
      await server.pass(100);
      await server.handle().acquire(starting('b'), lasting);
      expect(await server.starts('r')).toEqual({ a: '{"a"}', b: '{"b"}' });
    });

    it('leaves nothing where it is refused', async (server, master) => {
      await master.acquire(claimOf('a'), lasting);
      const skip = { line: '{}', host: 'web1', run: 'b', isRepeated: false };
      await master.acquire(starting('b', { skip }), lasting);
      expect([await server.starts('r'), await server.skips('r')]).toEqual([{}, { web1: 1 }]);
    });

    it('stands under each name; shared or on a slot too', async (server, master) => {
      await master.acquire(starting('a', { resources: ['r', 's'] }), lasting);
      expect([await server.starts('r'), await server.starts('s')]).toEqual([
        { a: '{"a"}' },
        { a: '{"a"}' },
      ]);
      await master.acquire(starting('b', { ...sharedOf('b'), resources: ['t'] }), lasting);
      await server.handle().acquire(starting('c', { ...sharedOf('c'), resources: ['t'] }), lasting);
      expect(Object.keys(await server.starts('t')).sort()).toEqual(['b', 'c']);
    });
  });
}
