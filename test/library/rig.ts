// The library on masters of a test file's own, as a program that imports it has it. Whatever a test opens is closed after it, and what
// another program would have said on the command line is in test/cli/rig.ts.
//
// The surprise: these masters were started a moment ago, so the restart grace is off here.

import { Redis } from 'ioredis';
import { afterEach } from 'vitest';
import type { LockEvent, MasterSource, RedlockOptions } from '../../src/library.ts';
import { Redlock, RedlockError } from '../../src/library.ts';

export {
  countOf,
  locksOn,
  type TestMaster,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from '../cli/rig.ts';

const opened: Redlock[] = [];
const clients: { disconnect(): void }[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((redlock) => redlock.close()));
  for (const client of clients.splice(0)) client.disconnect();
});

interface Place {
  readonly url: string;
}

export function redlockOn(
  places: readonly (Place | MasterSource)[],
  options: RedlockOptions = {},
): Redlock {
  const sources = places.map((place) =>
    typeof place !== 'string' && 'url' in place ? place.url : place,
  );
  const redlock = new Redlock(sources, { restartGraceMs: 0, ...options });
  opened.push(redlock);
  return redlock;
}

/** Clients as a program has them, with the settings of ioredis itself unless told otherwise. */
export function clientsOf(
  places: readonly Place[],
  options: object = {},
  Client: typeof Redis = Redis,
): Redis[] {
  return places.map(({ url }) => {
    const { protocol, pathname, hostname, port } = new URL(url);
    const place =
      protocol === 'unix:' ? { path: pathname } : { host: hostname, port: Number(port) };
    const client = new Client({ ...place, ...options });
    client.on('error', () => {}); // Programs have one, or ioredis writes to stderr.
    clients.push(client);
    return client;
  });
}

/** The events of one Redlock, with a way to wait for one of them. */
export function collector(): {
  readonly events: LockEvent[];
  readonly onEvent: (event: LockEvent) => void;
} {
  const events: LockEvent[] = [];
  return { events, onEvent: (event) => void events.push(event) };
}

/** What a call was rejected with; fails when it was not, or not with an error of the library. */
export async function errorOf(call: Promise<unknown>): Promise<RedlockError> {
  const outcome = await call.then(
    () => new Error('it resolved'),
    (error: unknown) => error,
  );
  if (!(outcome instanceof RedlockError)) throw outcome;
  return outcome;
}
