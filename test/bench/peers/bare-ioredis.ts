// The same requests and the same waits as the floor, through ioredis instead of bare sockets: the least that a lock could take that has
// our promises and this client. It takes every answer for a yes. Beside it stands out what our own code costs.

import { Redis } from 'ioredis';
import { quorumOf } from '../../../src/lock/validity.ts';
import type { ScriptCall } from '../../../src/redis/script-calls.ts';
import { digestOf } from '../../../src/redis/script-digest.ts';
import { callsOn } from './floor.ts';
import type { Cycle } from './npm.ts';

export async function bareIoredis(urls: readonly string[]): Promise<Cycle> {
  const { acquire, release } = callsOn('ioredis');
  const wires = urls.map((url) => ({ client: new Redis({ path: url.replace('unix://', '') }), owedCount: 0 }));
  const whole = ({ script, keys, words }: ScriptCall) => [script, keys.length, ...keys, ...words] as const;
  const named = ({ script, keys, words }: ScriptCall) => [digestOf(script), keys.length, ...keys, ...words] as const;
  const ask = (send: (client: Redis) => Promise<unknown>, enough: number, prompt = wires) =>
    new Promise<void>((resolve, reject) => {
      let missingCount = enough;
      for (const wire of wires) {
        wire.owedCount += 1;
        send(wire.client).then(() => {
          wire.owedCount -= 1;
          if (prompt.includes(wire)) missingCount -= 1;
          if (missingCount === 0) resolve();
        }, reject);
      }
    });
  await ask((client) => client.eval(...whole(acquire)), wires.length);
  await ask((client) => client.eval(...whole(release)), wires.length);
  return async () => {
    await ask((client) => client.evalsha(...named(acquire)), quorumOf(wires.length));
    const prompt = wires.filter(({ owedCount }) => owedCount === 0);
    await ask((client) => client.evalsha(...named(release)), prompt.length, prompt);
  };
}
