// The same requests and waits as the floor, through ioredis instead of bare sockets: the least that
// a lock with these promises and this client can take. It counts every reply as granted. The
// difference to redlock-run is the cost of its own code.

import { Redis } from 'ioredis';
import { quorumOf } from '../../../src/lock/quorum.ts';
import type { ScriptCall } from '../../../src/redis/calls/script-calls.ts';
import { callsOn } from './floor.ts';
import type { Cycle } from './npm.ts';

export async function bareIoredis(urls: readonly string[]): Promise<Cycle> {
  const { acquire, release } = callsOn('ioredis');
  const clients = urls.map((url) => new Redis({ path: url.replace('unix://', '') }));
  const args = ({ script, keys, args }: ScriptCall) =>
    [script, keys.length, ...keys, ...args] as const;
  const ask = (send: (client: Redis) => Promise<unknown>, enough: number) =>
    new Promise<void>((resolve, reject) => {
      let missingCount = enough;
      for (const client of clients) {
        send(client).then(() => {
          missingCount -= 1;
          if (missingCount === 0) resolve();
        }, reject);
      }
    });
  await ask((client) => client.eval(...args(acquire)), clients.length);
  await ask((client) => client.eval(...args(release)), clients.length);
  return async () => {
    await ask((client) => client.eval(...args(acquire)), quorumOf(clients.length));
    await ask((client) => client.eval(...args(release)), quorumOf(clients.length));
  };
}
