// The lists of masters that hosts have used, as a server tells them to each new connection of a
// program that compares its own with them.

import assert from 'node:assert/strict';
import { describe, expect, test } from 'vitest';
import type { ServerIdentity } from '../../src/redis/identity.ts';
import {
  type MasterList,
  OwnList,
  parseLists,
  textOfList,
  type UsedList,
} from '../../src/redis/master-lists.ts';
import type { Server, World } from './world.ts';

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** The list of a host that keeps what it is told; `''` is told those of all hosts. */
class Heard extends OwnList {
  lists: readonly UsedList[] | null = null;
  identity: Pick<ServerIdentity, 'mark' | 'repliedAt'> | null = null;

  constructor({ prefix }: Server, host: string, masterCount = 3) {
    super(host, masterCount, prefix);
  }

  override tell(...[name, connection, identity, reply]: Parameters<OwnList['tell']>): void {
    this.identity = identity;
    this.lists = parseLists(reply, identity.repliedAt);
    super.tell(name, connection, identity, reply);
  }
}

/** A program of that host has connected. */
async function meet(server: Server, list: Heard): Promise<Heard> {
  await server.comparing(list).identify();
  assert(list.identity !== null, 'it was not asked');
  return list;
}

async function told(server: Server, host = 'web9'): Promise<readonly UsedList[]> {
  const { lists } = await meet(server, new Heard(server, host));
  assert(lists !== null, 'nothing is told of lists');
  return lists;
}

const hostsOf = (lists: readonly UsedList[]) => lists.map(({ host }) => host);

const listOf = (...ids: readonly string[]): MasterList => ({
  configuredCount: ids.length,
  addresses: new Map(ids.map((id) => [id, `${id}:6379`])),
});

/** So many hosts have written lists, the first of them as the last one. */
async function write(server: Server, count: number, agoMs = 0): Promise<void> {
  for (let number = 1; number <= count; number += 1) {
    const text = textOfList(listOf(`id${number}`));
    await server.putList(`web${number}`, agoMs + number * 1_000, text);
  }
}

export function lists(world: World): void {
  const it = (title: string, body: (server: Server) => Promise<void>) =>
    test(title, () => world(body));

  describe('lists of masters', () => {
    it('what one host has written another is told, with when', async (server) => {
      const ours = await meet(server, new Heard(server, 'web1'));
      expect(ours.lists).toEqual([]);
      ours.write(ours.identity?.repliedAt ?? 0);
      while ((await told(server)).length === 0) await server.pass(5);
      await server.pass(50);
      const other = await meet(server, new Heard(server, 'web2'));
      const [used, ...more] = other.lists ?? [];
      expect([used?.host, used?.configuredCount, more]).toEqual(['web1', 3, []]);
      expect([...(used?.addresses.keys() ?? [])]).toEqual([ours.identity?.mark?.id]);
      const agoMs = (other.identity?.repliedAt ?? 0) - (used?.writtenAt ?? 0);
      expect(agoMs).toSatisfy((ms) => Number(ms) >= 40 && Number(ms) < 3_000);
    });

    it('of one list, the host that wrote last is told, and the own one', async (server) => {
      for (const [agoMs, host] of [30, 20, 10].entries())
        await server.putList(`web${host}`, agoMs * 1_000, textOfList(listOf('a', 'b')));
      await server.putList('web40', 5_000, textOfList(listOf('a')));
      expect(hostsOf(await told(server))).toEqual(['web30', 'web40']);
      expect(hostsOf(await told(server, 'web10'))).toEqual(['web30', 'web10', 'web40']);
      expect(hostsOf(await told(server, ''))).toEqual(['web30', 'web20', 'web10', 'web40']);
    });

    it('a host has one list: the last that it wrote', async (server) => {
      for (const masterCount of [1, 4]) {
        const ours = await meet(server, new Heard(server, 'web1', masterCount));
        ours.write(ours.identity?.repliedAt ?? 0);
        const count = async () => (await told(server))[0]?.configuredCount;
        while ((await count()) !== masterCount) await server.pass(5);
      }
      expect(await told(server)).toMatchObject([{ host: 'web1', configuredCount: 4 }]);
    });

    it('a hundred hosts have one, the youngest', async (server) => {
      await told(server);
      await write(server, 100);
      const ours = await meet(server, new Heard(server, 'web200'));
      ours.write(ours.identity?.repliedAt ?? 0);
      await server.pass(50);
      const hosts = hostsOf(await told(server, ''));
      expect([hosts.length, hosts[0], hosts[1], hosts[99]]).toEqual([
        ...[100, 'web200', 'web1', 'web99'],
      ]);
    });

    it('one of more than a week ago goes when another is written', async (server) => {
      await told(server);
      await server.putList('web1', 7 * dayMs - hourMs, textOfList(listOf('a')));
      await server.putList('web2', 7 * dayMs + hourMs, textOfList(listOf('b')));
      const ours = await meet(server, new Heard(server, 'web3'));
      ours.write(ours.identity?.repliedAt ?? 0);
      await server.pass(50);
      expect(hostsOf(await told(server, ''))).toEqual(['web3', 'web1']);
    });

    it('they go with the memory of the server', async (server) => {
      await told(server);
      await write(server, 2);
      expect(await told(server)).toHaveLength(2);
      await server.restart();
      expect(await told(server)).toEqual([]);
    });

    it('a server without a mark tells of none, and keeps none', async (server) => {
      const ours = await meet(server, new Heard(server, 'web1'));
      await server.forgetMark();
      ours.write(ours.identity?.repliedAt ?? 0);
      await server.pass(50);
      expect(await told(server)).toEqual([]);
    });
  });
}
