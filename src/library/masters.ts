// Finds the endpoints of the masters that a program has given as URLs or clients. *Invariant:* a
// client of the program is never used itself, but a duplicate with other settings. The client may
// queue commands while it is not connected, and send them later, so that a key could appear after
// the rollback of its attempt.

import { AddressError, endpointOf, parseAddress } from '../redis/address.ts';
import type { LentClient, Origin } from '../redis/connection/client.ts';
import { usageError } from './error.ts';
import type { IoredisClient, MasterSource } from './options.ts';

type Duplicate = ReturnType<LentClient['duplicate']>;

/**
 * Where to connect to, for each master.
 * @throws RedlockError `usage` for anything else, for an empty list, and for the same server twice
 */
export function originsOf(sources: readonly MasterSource[]): Origin[] {
  if (!Array.isArray(sources) || sources.length === 0) {
    throw usageError('masters: none given (give URLs or clients of ioredis, in an array)');
  }
  const seen = new Map<string, string>();
  return sources.map((source) => {
    const { origin, endpoint } = typeof source === 'string' ? fromUrl(source) : fromClient(source);
    const earlier = seen.get(endpoint);
    if (earlier)
      throw usageError(
        `masters: ${origin.name}: the same server as ${earlier} (list each server once)`,
      );
    seen.set(endpoint, origin.name);
    return origin;
  });
}

interface Server {
  readonly origin: Origin;
  /** The same for the same server, whatever the database and the login. */
  readonly endpoint: string;
}

function fromUrl(text: string): Server {
  try {
    const address = parseAddress(text);
    if (address.username !== undefined && address.password === undefined) {
      const why = 'a user without a password (write user:password@ or :password@)';
      throw usageError(`masters: ${address.name}: ${why}`);
    }
    return { origin: address, endpoint: endpointOf(address) };
  } catch (error) {
    if (error instanceof AddressError) throw usageError(`masters: ${error.message}`);
    throw error;
  }
}

function fromClient(client: IoredisClient & { readonly isCluster?: boolean }): Server {
  if (client?.isCluster) {
    throw usageError(
      'masters: a client of a cluster (list independent masters, each with its own client)',
    );
  }
  const { options } = client ?? {};
  if (!options || !isFunction(client.duplicate) || !isFunction(client.call)) {
    throw usageError(
      'masters: neither a URL nor a client of ioredis (clients of other packages cannot be used)',
    );
  }
  if ('sentinels' in options && options.sentinels) {
    throw usageError(
      'masters: a client of sentinels (list independent masters: a failover can lose a lock)',
    );
  }
  const { host = 'localhost', port = 6379, path, db = 0 } = options;
  const endpoint = endpointOf({ name: '', host, port, db, ...(path ? { path } : {}) });
  const name = path
    ? `unix://${path}${db ? `?db=${db}` : ''}`
    : `redis://${endpoint}${db ? `/${db}` : ''}`;
  const duplicate = (override: object) => client.duplicate(override) as Duplicate;
  return { origin: { name, db, duplicate } satisfies LentClient, endpoint };
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}
