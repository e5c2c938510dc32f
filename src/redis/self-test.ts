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
import { failed, isFailed } from './errors.ts';
import { ServerRegistry } from './identity.ts';
import { keysOf } from './keys.ts';
import { missingRights } from './missing-rights.ts';
import type { LockObserver } from './observer.ts';
import { RedisMaster, type RedisMasterSettings } from './redis-master.ts';

const ttlMs = 2_000;
const record = { host: 'none', pid: 0, user: 'redlockctl', since: '', label: 'doctor' };

export type SelfTestSettings = Pick<RedisMasterSettings, 'prefix' | 'protocol' | 'historyBytes'>;

/** Why a run could not work on this server, or null. */
export async function testMaster(
  observer: LockObserver,
  settings: SelfTestSettings,
  clock: Clock,
): Promise<Failed | null> {
  const master = new RedisMaster(
    observer.address,
    { ...settings, restartGraceMs: 0, ownList: null },
    new ServerRegistry(),
    clock,
  );
  try {
    const refusal = await perform(master, observer, settings);
    return refusal?.cause === 'denied' ? await explained(refusal, observer, settings) : refusal;
  } finally {
    await master.close();
  }
}

/** Names the commands that were denied inside a script, because the server does not. */
async function explained(
  refusal: Failed,
  observer: LockObserver,
  { prefix, protocol }: SelfTestSettings,
): Promise<Failed> {
  const connection = await observer.connected();
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
  master: RedisMaster,
  observer: LockObserver,
  { prefix, protocol }: SelfTestSettings,
): Promise<Failed | null> {
  const resource = unusedName();
  const [holder, stranger] = [testClaim(resource), testClaim(resource)];
  const waiterId = randomBytes(8).toString('hex');
  const waiter = { ...testClaim(resource), waiter: { id: waiterId, arrivalUs: 0 } };
  const lasting = new AbortController().signal;
  const granted = await master.acquire(holder, lasting);
  if (isFailed(granted)) {
    await forget(observer, prefix, resource);
    return granted;
  }
  const fence = granted.kind === 'granted' ? granted.fence : null;
  const refused = await master.acquire(waiter, lasting);
  // The older protocol has no wake-ups and no shared locks.
  const hasForms = protocol === 'redlock';
  const subscription = hasForms ? await master.subscribe([resource], waiterId, () => {}) : null;
  const extended = await master.extend(holder, fence, lasting);
  const seen = await observer.look([resource]);
  const released = await master.release(holder, 0, null);
  // The lock is free, and the waiter comes first.
  const passed = await master.acquire(stranger, lasting);
  await master.release(stranger, 0, null);
  const left = await master.release(waiter, 0, null);
  const shares = hasForms ? await share(master, resource) : [];
  if (subscription !== null && !isFailed(subscription)) subscription.close();
  const forgotten = await forget(observer, prefix, resource);
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

async function share(
  master: RedisMaster,
  resource: string,
): Promise<(AcquireReply | ReleaseReply)[]> {
  const sharer = { ...testClaim(resource), sharing: { kind: 'shared' } } as const;
  return [
    await master.acquire(sharer, new AbortController().signal),
    await master.release(sharer, 0, null),
  ];
}

/** Removes what remains of a claim: the counter. */
async function forget(
  observer: LockObserver,
  prefix: string,
  resource: string,
): Promise<unknown | Failed> {
  const connection = await observer.connected();
  if (isFailed(connection)) return connection;
  return connection.call('DEL', keysOf(prefix, resource)[1] ?? '');
}

function testClaim(resource: string): Claim {
  const token = randomBytes(20).toString('base64url');
  return newClaim({ ...alone, resources: [resource], ttlMs, isFenced: true }, token, record);
}
