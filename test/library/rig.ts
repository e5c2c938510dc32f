// Sets up the library on masters of one test file, and closes after each test what it has opened.
// *Note:* the masters have just started, so the restart grace is off here.

import { Redis } from 'ioredis';
import { afterEach } from 'vitest';
import {
  type LockEvent,
  type MasterSource,
  Redlock,
  RedlockError,
  type RedlockOptions,
} from '../../src/index.ts';

export {
  countOf,
  isOnEach,
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

/** Clients of a program, with the default settings of ioredis unless given. */
export function clientsOf(
  places: readonly Place[],
  options: object = {},
  Client: typeof Redis = Redis,
): Redis[] {
  return places.map(({ url }) => {
    const { protocol, pathname, hostname, port } = new URL(url);
    const address =
      protocol === 'unix:' ? { path: pathname } : { host: hostname, port: Number(port) };
    const client = new Client({ ...address, ...options });
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

/** The RedlockError of a rejected call; fails when the call resolves or rejects otherwise. */
export async function errorOf(call: Promise<unknown>): Promise<RedlockError> {
  const outcome = await call.then(
    () => new Error('it resolved'),
    (error: unknown) => error,
  );
  if (!(outcome instanceof RedlockError)) throw outcome;
  return outcome;
}

/** Resolves when `signal` has aborted, also where that was before. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}
