// Doctor's test of a master: does everything that a run does on a master once, with the code of a
// run, on a lock of its own. So a missing right, a full memory or a read-only server is found
// early. *Note:* it writes for a second under a random name, even on masters in use, and leaves
// nothing.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../lock/ports.ts';
import {
  type AcquireReply,
  alone,
  type Claim,
  type Failed,
  type ReleaseReply,
} from '../lock/types.ts';
import { newClaim } from '../lock/value.ts';
import type { MasterAddress } from './address.ts';
import type { ServerSettings } from './connected-server.ts';
import { failed, isFailed } from './errors.ts';
import { ServerRegistry } from './identity.ts';
import { keysOf } from './keys.ts';
import { missingRights } from './missing-rights.ts';
import { Server } from './server.ts';

const ttlMs = 2_000;
const record = { host: 'none', pid: 0, user: 'redlockctl', since: '', label: 'doctor' };

/** Why a run could not work on this server, or null. */
export async function testMaster(
  address: MasterAddress,
  settings: ServerSettings,
  clock: Clock,
): Promise<Failed | null> {
  const tested = { ...settings, restartGraceMs: 0 };
  const server = new Server(address, tested, new ServerRegistry(), clock, 'lock');
  try {
    const refusal = await perform(server, settings);
    return refusal?.cause === 'denied' ? await explained(refusal, server, settings) : refusal;
  } finally {
    await server.close();
  }
}

/** Names the commands that were denied inside a script, because the server does not. */
async function explained(
  refusal: Failed,
  server: Server,
  { prefix, protocol }: ServerSettings,
): Promise<Failed> {
  const connection = await server.connected();
  if (isFailed(connection)) return refusal;
  const [, key = ''] = keysOf(prefix, unusedName());
  const missing = await missingRights(connection, key, protocol);
  if (isFailed(missing) || missing.length === 0) return refusal;
  return failed(
    'denied',
    `no right to ${missing.map((command) => command.toUpperCase()).join(', ')}`,
  );
}

/** A name that no lock has. */
function unusedName(): string {
  return `doctor-${randomBytes(8).toString('hex')}`;
}

async function perform(
  server: Server,
  { prefix, protocol }: ServerSettings,
): Promise<Failed | null> {
  const resource = unusedName();
  const [holder, stranger] = [testClaim(resource), testClaim(resource)];
  const waiterId = randomBytes(8).toString('hex');
  const waiter = { ...testClaim(resource), waiter: { id: waiterId, arrivalUs: 0 } };
  const lasting = new AbortController().signal;
  const granted = await server.acquire(holder, lasting);
  if (isFailed(granted)) {
    await forget(server, prefix, resource);
    return granted;
  }
  const fence = granted.kind === 'granted' ? granted.fence : null;
  const refused = await server.acquire(waiter, lasting);
  // The older protocol has no wake-ups and no shared locks.
  const hasForms = protocol === 'redlock';
  const subscription = hasForms ? await server.subscribe([resource], waiterId, () => {}) : null;
  const extended = await server.extend(holder, fence, lasting);
  const seen = await server.look([resource]);
  const released = await server.release(holder, 0, null);
  // The lock is free, and the waiter comes first.
  const passed = await server.acquire(stranger, lasting);
  await server.release(stranger, 0, null);
  const left = await server.release(waiter, 0, null);
  const shares = hasForms ? await share(server, resource) : [];
  if (subscription !== null && !isFailed(subscription)) subscription.close();
  const forgotten = await forget(server, prefix, resource);
  const replies = [
    refused,
    subscription,
    extended,
    seen,
    released,
    passed,
    left,
    ...shares,
    forgotten,
  ];
  for (const reply of replies) if (isFailed(reply)) return reply;
  const kinds = [refused, extended, released, ...shares].map(({ kind }) => kind).join(', ');
  const wanted = `refused, extended, released${hasForms ? ', granted, released' : ''}`;
  return kinds === wanted ? null : failed('reply', `a lock was not kept: ${kinds}`);
}

async function share(server: Server, resource: string): Promise<(AcquireReply | ReleaseReply)[]> {
  const sharer = { ...testClaim(resource), sharing: { kind: 'shared' } } as const;
  return [
    await server.acquire(sharer, new AbortController().signal),
    await server.release(sharer, 0, null),
  ];
}

/** Removes what remains of a claim: the counter. */
async function forget(server: Server, prefix: string, resource: string): Promise<unknown | Failed> {
  const connection = await server.connected();
  if (isFailed(connection)) return connection;
  return connection.call('DEL', keysOf(prefix, resource)[1] ?? '');
}

function testClaim(resource: string): Claim {
  const token = randomBytes(20).toString('base64url');
  return newClaim({ ...alone, resources: [resource], ttlMs, isFenced: true }, token, record);
}
