// The contract of a Master on simulated servers: the same tests as on real ones
// (test/redis/master.test.ts), so that the findings of the simulator mean something. Server is
// the real one; the server, its scripts and ioredis are tested.

import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import { beside, type Protocol } from '../../src/redis/keys.ts';
import { maxTimerMs } from '../../src/system/clock.ts';
import { masterContract } from '../contract/master.ts';
import { olderContract } from '../contract/older.ts';
import type { World as ContractWorld, Server } from '../contract/world.ts';
import { Endpoint } from './endpoint.ts';
import { SimProcess } from './sim-process.ts';
import { prefix, Stage } from './stage.ts';
import { realSystem } from './system.ts';

masterContract('Server on a simulated server', simulatedWorld());
olderContract('Server on a simulated server', simulatedWorld);

/** Virtual time passes while the test awaits anything. */
function simulatedWorld(protocol: Protocol = 'redlock'): ContractWorld {
  return async (test) => {
    const stage = new Stage({ masterCount: 1 });
    const done = test(serverOn(stage, protocol));
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    done.then(end, end);
    while (!isOver) await stage.pass(1);
    await done;
  };
}

function serverOn(stage: Stage, protocol: Protocol): Server {
  const server = stage.server(0);
  const { redis } = server;
  const endpoints: Endpoint[] = [];
  const keyOf = (resource: string) => prefix + resource;
  const counterOf = (resource: string) => `{${prefix}${resource}}:fence`;
  const settings = {
    prefix,
    restartGraceMs: 0,
    historyBytes: defaultHistoryBytes,
    protocol,
  };
  const newProcess = () => {
    const process = new SimProcess(
      stage.machine(`c${endpoints.length + 1}`),
      `p${endpoints.length + 1}`,
    );
    const endpoint = new Endpoint(stage.network, process, server, 0);
    endpoints.push(endpoint);
    return {
      endpoint,
      clock: realSystem.createSystemClock(() => {}, process.machine, maxTimerMs.alone),
    };
  };
  const observer = () => {
    const { endpoint, clock } = newProcess();
    const registry = new realSystem.ServerRegistry();
    return new realSystem.Server(endpoint.address, settings, registry, clock, 'look');
  };
  return {
    prefix,
    handle() {
      const { endpoint, clock } = newProcess();
      return new realSystem.Server(
        endpoint.address,
        settings,
        new realSystem.ServerRegistry(),
        clock,
        'lock',
      );
    },
    marking() {
      const { endpoint, clock } = newProcess();
      return new realSystem.Server(
        endpoint.address,
        { ...settings, restartGraceMs: 1 },
        new realSystem.ServerRegistry(),
        clock,
        'lock',
      );
    },
    async putSet(host, agoMs, ids) {
      redis.putSet(host, agoMs, ids);
    },
    async forgetMark() {
      redis.mark = null;
    },
    look: (...resources) => observer().look(resources),
    freezeLock: (resource, value, forMs) => observer().freeze(resource, value, forMs),
    thawLock: (resource, value) => observer().thaw(resource, value, ''),
    async read(resource) {
      const value = redis.get(keyOf(resource));
      return value === null ? null : { value, remainingMs: redis.remainingMs(keyOf(resource)) };
    },
    async write(resource, value, ttlMs) {
      redis.put(keyOf(resource), value, ttlMs);
    },
    async remove(resource) {
      redis.put(keyOf(resource), null);
    },
    async holders(resource) {
      if (redis.get(keyOf(resource)) === null) return [];
      const living = redis.holdersOf(keyOf(resource));
      return living.map(({ slot, value }) => (slot === 0 ? value : `${slot} ${value}`)).sort();
    },
    async counter(resource) {
      const count = redis.get(counterOf(resource));
      return count === null ? null : Number(count);
    },
    async setCounter(resource, count) {
      redis.put(counterOf(resource), String(count));
    },
    ownerKey: async (resource) => redis.get(beside(prefix + resource, 'owner')),
    now: async () => redis.now,
    history: async (resource) => redis.historyOf(prefix + resource),
    starts: async (resource) => Object.fromEntries(redis.startsOf(prefix + resource)),
    skips: async (resource) => Object.fromEntries(redis.skipsOf(prefix + resource)),
    freeze: async () => server.freeze(),
    thaw: async () => server.thaw(),
    async loseAnswers() {
      for (const socket of endpoints.flatMap(({ sockets }) => [...sockets])) socket.mute();
    },
    unplug: async () => server.stop(),
    restore: async () => server.start(),
    cut: async () => server.cut(),
    async restart() {
      server.stop();
      redis.restore(null);
      server.start();
    },
    pass: (ms) => new Promise((resolve) => stage.world.after(ms, resolve)),
  };
}
