// A real server as the contract of the Master port wants it, behind a proxy that can fail. Not for
// tests of Redis itself: here keys have become resources again.
//
// *Note:* one server serves all tests of a file, emptied for each; checks go around the proxy.

import { setTimeout as sleep } from 'node:timers/promises';
import { parseAddress } from '../../src/redis/address.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import { ServerRegistry } from '../../src/redis/identity.ts';
import { beside, type Protocol } from '../../src/redis/keys.ts';
import { Server as RedisServer } from '../../src/redis/server.ts';
import { createPlainClock } from '../../src/system/clock.ts';
import type { Server, World } from '../contract/world.ts';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import type { TestMaster } from '../servers/master.ts';

const prefix = 'p:';

type Keys = Pick<
  Server,
  | 'putSet'
  | 'forgetMark'
  | 'read'
  | 'write'
  | 'remove'
  | 'holders'
  | 'counter'
  | 'setCounter'
  | 'ownerKey'
  | 'now'
  | 'history'
  | 'starts'
  | 'skips'
>;

export function redisWorld(serverOf: () => TestMaster, protocol: Protocol = 'redlock'): World {
  return async (test) => {
    const master = serverOf();
    await master.flush();
    const proxy = await FaultyProxy.start(master.url);
    const handles: RedisServer[] = [];
    try {
      await test(serverBehind(proxy, master, handles, protocol));
    } finally {
      master.thaw();
      for (const handle of handles) handle.close();
      await proxy.stop();
    }
  };
}

function serverBehind(
  proxy: FaultyProxy,
  master: TestMaster,
  handles: RedisServer[],
  protocol: Protocol,
): Server {
  const settings = {
    prefix,
    restartGraceMs: 0,
    historyBytes: defaultHistoryBytes,
    protocol,
  };
  /** What an observer of its own answers. */
  async function looking<Answer>(ask: (observer: RedisServer) => Promise<Answer>) {
    const registry = new ServerRegistry();
    const address = parseAddress(proxy.url);
    const observer = new RedisServer(address, settings, registry, createPlainClock(), 'look');
    const answer = await ask(observer);
    observer.close();
    return answer;
  }
  return {
    ...keysOn(master),
    prefix,
    handle() {
      const handle = new RedisServer(
        parseAddress(proxy.url),
        settings,
        new ServerRegistry(),
        createPlainClock(),
        'lock',
      );
      handles.push(handle);
      return handle;
    },
    marking() {
      const registry = new ServerRegistry();
      const marking = { ...settings, restartGraceMs: 1 };
      const handle = new RedisServer(
        parseAddress(proxy.url),
        marking,
        registry,
        createPlainClock(),
        'lock',
      );
      handles.push(handle);
      return handle;
    },
    look: (...resources) => looking((observer) => observer.look(resources)),
    freezeLock: (resource, value, forMs) =>
      looking((observer) => observer.freeze(resource, value, forMs)),
    thawLock: (resource, value) => looking((observer) => observer.thaw(resource, value, '')),
    freeze: () => master.freeze(),
    thaw: async () => master.thaw(),
    loseAnswers: async () => proxy.dropReplies(),
    unplug: () => proxy.refuse(),
    restore: () => proxy.pass(),
    cut: async () => proxy.cut(),
    restart: () => master.restart(),
    pass: (ms) => sleep(ms),
  };
}

/** What stands on the server, read and written around the proxy. */
function keysOn(master: TestMaster): Keys {
  const keyOf = (resource: string) => prefix + resource;
  const counterOf = (resource: string) => `{${prefix}${resource}}:fence`;
  /** What the history has of this kind beside its lines, by what each fact is about. */
  async function factsOf(resource: string, kind: 'run' | 'skip'): Promise<[string, string][]> {
    const key = beside(prefix + resource, 'facts:history');
    const facts = Object.entries((await master.command('hgetall', key)) as Record<string, string>);
    const ofKind = facts.filter(([name]) => name.startsWith(`${kind} `));
    return ofKind.map(([name, fact]) => [name.slice(kind.length + 1), fact]);
  }
  return {
    async putSet(host, agoMs, ids) {
      const value = `${(await this.now()) - agoMs} ${host}`;
      await master.command('hset', beside(prefix, 'mark'), `set:${ids}`, value);
    },
    async forgetMark() {
      await master.command('del', beside(prefix, 'mark'));
    },
    async read(resource) {
      const value = await master.get(keyOf(resource));
      const remainingMs = Number(await master.command('pttl', keyOf(resource)));
      return value === null ? null : { value, remainingMs: remainingMs < 0 ? null : remainingMs };
    },
    async write(resource, value, ttlMs) {
      await master.command('set', keyOf(resource), value, ...(ttlMs === null ? [] : ['px', ttlMs]));
    },
    async remove(resource) {
      await master.command('del', keyOf(resource));
    },
    async holders(resource) {
      if ((await master.get(keyOf(resource))) === null) return [];
      const living = [`(${await this.now()}`, '+inf'];
      const members = await master.command(
        'zrangebyscore',
        `{${keyOf(resource)}}:holders`,
        ...living,
      );
      return (members as string[]).map((member) => member.replace(/^0 /, '')).sort();
    },
    async counter(resource) {
      const count = await master.get(counterOf(resource));
      return count === null ? null : Number(count);
    },
    async setCounter(resource, count) {
      await master.command('set', counterOf(resource), String(count));
    },
    ownerKey: (resource) => master.get(beside(prefix + resource, 'owner')),
    async now() {
      const [seconds = 0, micros = 0] = ((await master.command('time')) as string[]).map(Number);
      return seconds * 1_000 + Math.floor(micros / 1_000);
    },
    async history(resource) {
      const runs = beside(prefix + resource, 'runs:history');
      const lines = (await master.command('lrange', runs, 0, -1)) as string[];
      return lines.map((line) => line.replace(/^\d+ /, '')).reverse();
    },
    async starts(resource) {
      const starts = await factsOf(resource, 'run');
      return Object.fromEntries(starts.map(([run, fact]) => [run, fact.replace(/^\d+ /, '')]));
    },
    async skips(resource) {
      const skips = await factsOf(resource, 'skip');
      return Object.fromEntries(skips.map(([host, fact]) => [host, Number.parseInt(fact, 10)]));
    },
  };
}
