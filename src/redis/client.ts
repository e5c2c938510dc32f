// An ioredis client set up so that nothing is ever queued or sent twice: it connects once, and ends at the first trouble. The
// surprise: ioredis is given no password and no database. It would wait a round trip for each before it sends anything; here
// AUTH goes out in front of the first command.

import { Redis } from 'ioredis';
import type { Failed } from '../lock/ports.ts';
import type { MasterAddress } from './address.ts';
import { failedBy } from './trouble.ts';

/** A silent host must not hold up a dial for longer than this; connections refused fail at once. */
const connectTimeoutMs = 2_000;

export interface OpenedClient {
  readonly client: Redis;
  /** Why the server refuses us, or null; unknown until its answer comes. */
  readonly access: Promise<Failed | null>;
}

/** Connects and sends AUTH without waiting for the answer. */
export async function openClient(address: MasterAddress): Promise<OpenedClient | Failed> {
  const client = new Redis({
    ...endpointOptions(address),
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false,
    protocol: 2,
    disableClientInfo: true,
  });
  let cause: unknown = null;
  client.on('error', (error) => {
    cause = error;
  });
  try {
    await client.connect();
    const access = authenticate(client, address);
    // In another database our key would exclude nobody, so this answer is worth a round trip.
    if (address.db !== 0) await client.select(address.db);
    return { client, access };
  } catch (error) {
    // One that never opened has ended already, and would only set a timer that keeps the program alive.
    if (client.status !== 'end') client.disconnect();
    return failedBy(cause ?? error);
  }
}

/** Resolves with why the server refused us, or null; a server that asks for no password at all is no trouble. */
async function authenticate(client: Redis, { username, password }: MasterAddress): Promise<Failed | null> {
  if (password === undefined) return null;
  try {
    await client.call('AUTH', ...(username === undefined ? [password] : [username, password]));
    return null;
  } catch (error) {
    const refused = failedBy(error);
    return /no password is set|without any password configured/.test(refused.message) ? null : refused;
  }
}

function endpointOptions(address: MasterAddress): object {
  if (address.path !== undefined) return { path: address.path };
  return { host: address.host, port: address.port, ...(address.tls ? { tls: address.tls } : {}) };
}
