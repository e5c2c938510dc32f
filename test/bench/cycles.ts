// Acquire and release, over and over, in one process with open connections: ours, the same scripts pipelined to the same
// masters with nothing around them (the floor), and redlock 4.2.0 from npm.

import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import PeerRedlock from 'redlock';
import { Redlock } from '../../src/lock/redlock.ts';
import { parseAddress } from '../../src/redis/address.ts';
import { Roster } from '../../src/redis/identity.ts';
import { RedisMaster } from '../../src/redis/redis-master.ts';
import { acquireScript, releaseScript } from '../../src/redis/scripts.ts';
import { createSystemClock } from '../../src/system-clock.ts';
import { inTurns } from './rounds.ts';

const roundCount = 300;
const ttlMs = 30_000;

export async function cycles(urls: readonly string[]) {
  const addresses = urls.map(parseAddress);
  const clients = addresses.map(({ path }) => new Redis({ path: path ?? '', protocol: 2 }));
  const floor = async () => {
    const value = randomBytes(20).toString('base64url');
    await Promise.all(
      clients.map((client) => client.eval(acquireScript, 2, 'floor', '{floor}:fence', value, ttlMs, ttlMs)),
    );
    await Promise.all(clients.map((client) => client.eval(releaseScript, 2, 'floor', '{floor}:fence', value, 0)));
  };

  const clock = createSystemClock();
  const roster = new Roster();
  const masters = addresses.map(
    (address) => new RedisMaster(address, { prefix: '', restartGraceMs: 0 }, roster, clock),
  );
  const redlock = new Redlock(masters, clock, { masterTimeoutMs: 1_500, reserveMs: 0 }, () => {});
  const ours = async () => {
    const claim = {
      resource: 'ours',
      value: randomBytes(20).toString('base64url'),
      ttlMs,
      isFenced: true,
      waiter: null,
    };
    const attempt = await redlock.attempt(claim);
    if (attempt.kind !== 'acquired') throw new Error(attempt.kind);
    await redlock.release(claim);
  };

  const peer = new PeerRedlock(clients as unknown as PeerRedlock.CompatibleRedisClient[], { retryCount: 0 });
  const theirs = async () => {
    const lock = await peer.lock('peer', ttlMs);
    await lock.unlock();
  };

  const time = (cycle: () => Promise<void>) => async () => {
    const startedAt = performance.now();
    await cycle();
    return performance.now() - startedAt;
  };
  const rows = await inTurns(
    [
      { name: 'floor: the scripts alone', measure: time(floor) },
      { name: 'redlock-run', measure: time(ours) },
      { name: 'redlock 4.2.0', measure: time(theirs) },
    ],
    roundCount,
  );
  for (const client of [...clients, ...masters]) 'disconnect' in client ? client.disconnect() : client.close();
  return rows;
}
