// The sets of masters that hosts have recorded on a server beside its mark, as it reports them to
// each new connection.

import assert from 'node:assert/strict';
import { describe, expect, test } from 'vitest';
import type { Mark } from '../../src/redis/identity.ts';
import type { Server, World } from './world.ts';

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** What the server reports of its mark to a program that connects now. */
async function markOn(server: Server): Promise<Mark> {
  const handle = server.marking();
  await handle.identify();
  const { identity } = handle;
  assert(identity && !('kind' in identity) && identity.mark, 'no mark is reported');
  return identity.mark;
}

async function setsOn(server: Server): Promise<string[]> {
  const { sets } = await markOn(server);
  return sets.map(({ ids, host }) => `${host}: ${ids.join(' ')}`).sort();
}

const record = (server: Server, host: string, ...ids: string[]) =>
  server.marking().recordSet(host, ids);

export function lists(world: World): void {
  const it = (title: string, body: (server: Server) => Promise<void>) =>
    test(title, () => world(body));

  describe('sets of masters', () => {
    it('a set is reported with its last use and host', async (server) => {
      expect(await setsOn(server)).toEqual([]);
      expect(await record(server, 'web 1', 'a', 'b')).toBe(1);
      await server.pass(50);
      const handle = server.marking();
      await handle.identify();
      const { identity } = handle;
      assert(identity && !('kind' in identity));
      const [set, ...more] = identity.mark?.sets ?? [];
      expect([set?.ids, set?.host, more]).toEqual([['a', 'b'], 'web 1', []]);
      const agoMs = identity.repliedAt - (set?.usedAt ?? 0);
      expect(agoMs).toSatisfy((ms) => Number(ms) >= 40 && Number(ms) < 3_000);
    });

    it('a set that several hosts use has the last of them', async (server) => {
      await markOn(server);
      for (const host of ['web1', 'web2']) await record(server, host, 'a', 'b');
      expect(await setsOn(server)).toEqual(['web2: a b']);
    });

    it('a host has one set: the last that it recorded', async (server) => {
      await markOn(server);
      await record(server, 'web1', 'a');
      await record(server, 'web2', 'b');
      await record(server, 'web1', 'a', 'c');
      expect(await setsOn(server)).toEqual(['web1: a c', 'web2: b']);
    });

    it('one that was last used more than a day ago goes with the next record', async (server) => {
      await markOn(server);
      await server.putSet('web1', dayMs - hourMs, 'a');
      await server.putSet('web2', dayMs + hourMs, 'b');
      expect(await setsOn(server)).toEqual(['web1: a', 'web2: b']);
      await record(server, 'web3', 'c');
      expect(await setsOn(server)).toEqual(['web1: a', 'web3: c']);
    });

    it('they go with the memory of the server', async (server) => {
      await markOn(server);
      await record(server, 'web1', 'a');
      expect(await setsOn(server)).toHaveLength(1);
      await server.restart();
      expect(await setsOn(server)).toEqual([]);
    });

    it('a server without a mark keeps none', async (server) => {
      const handle = server.marking();
      await handle.identify();
      await server.forgetMark();
      expect(await handle.recordSet('web1', ['a'])).toBe(0);
      expect(await setsOn(server)).toEqual([]);
    });
  });
}
