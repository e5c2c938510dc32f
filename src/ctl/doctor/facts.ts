// What a master reports about itself. null: it does not, or in an unknown form. *Note:* servers
// that refuse INFO or CONFIG are common (managed services), so null must never count as ok.

import type { Clock } from '../../lock/ports.ts';
import type { Failed } from '../../lock/types.ts';
import type { MasterAddress } from '../../redis/address.ts';
import { maxReplyBytes } from '../../redis/connection/client.ts';
import { Connection } from '../../redis/connection/connection.ts';
import { isFailed } from '../../redis/errors.ts';
import type { ServerIdentity } from '../../redis/identity.ts';
import { testMaster } from '../../redis/self-test.ts';
import type { Server } from '../../redis/server.ts';
import { printable } from '../../text/foreign-text.ts';
import type { MasterQuery } from '../master-query.ts';
import type { CtlSettings } from '../settings.ts';
import { rateOf, readClock, tolerableRate } from './clock-rate.ts';

/** Of a master that has answered. */
export type MasterFacts = Exclude<Awaited<ReturnType<typeof examine>>, Failed>;

export interface ServerVersion {
  readonly name: 'Redis' | 'Valkey';
  /** Digits and points, as in 7.0.15. */
  readonly version: string;
}

/**
 * `info`: by field. null: it reports no version. Valkey also reports a Redis version, which is
 * always the same.
 */
export function serverVersionOf(info: Readonly<Record<string, string>>): ServerVersion | null {
  const versionIn = (field: string) =>
    /^\d{1,4}(\.\d{1,9}){1,3}(?![\d.])/.exec(info[field] ?? '')?.[0] ?? null;
  const valkey = versionIn('valkey_version');
  if (valkey !== null) return { name: 'Valkey', version: valkey };
  const redis = versionIn('redis_version');
  return redis === null ? null : { name: 'Redis', version: redis };
}

/** The shortest time between two readings of a clock. */
const betweenReadingsMs = 1_000;

/** Facts about each master, or why there are none. Takes a second, two if a clock is in doubt. */
export async function gatherFacts(
  query: MasterQuery,
  settings: CtlSettings,
  clock: Clock,
): Promise<(MasterFacts | Failed)[]> {
  // A master that does not answer this in time is not asked further.
  await query.ask(async (server) => {
    const connection = await server.connected();
    return isFailed(connection) ? connection : connection.identity;
  });
  const timeoutMs = 2 * betweenReadingsMs + 5 * settings.masterTimeoutMs;
  return query.ask((server) => examine(server, settings, clock), timeoutMs);
}

async function examine(server: Server<MasterAddress>, settings: CtlSettings, clock: Clock) {
  const connection = await server.connected();
  if (isFailed(connection)) return connection;
  const startedAt = clock.now();
  const askTime = () => connection.call('TIME');
  const before = await readClock(askTime);
  const identity = await connection.identity;
  if (isFailed(identity)) return identity;
  const reported = await factsOf(connection, identity);
  const isOpen = await answersStrangers(server.origin, clock);
  const refusal: Failed | null = await testMaster(server.origin, settings, clock);
  await clock.sleep(betweenReadingsMs - (clock.now() - startedAt));
  const after = await readClock(askTime);
  if (isFailed(before)) return before;
  if (isFailed(after)) return after;
  const clockReadings = [before.reading, after.reading];
  if (Math.abs(rateOf(clockReadings)?.certain ?? 0) >= tolerableRate) {
    await clock.sleep(betweenReadingsMs);
    const again = await readClock(askTime);
    if (isFailed(again)) return again;
    clockReadings.push(again.reading);
  }
  return {
    address: server.origin,
    ...reported,
    isOpen,
    /** Why the master could not keep a lock; null: it could. */
    refusal,
    /** Of the master's clock, at least a second apart. */
    clockReadings,
    /** The shortest first. */
    roundTripsMs: [...before.roundTripsMs, ...after.roundTripsMs].sort((a, b) => a - b),
  };
}

async function factsOf(connection: Connection, identity: ServerIdentity) {
  const [info, fsync, bind, protection] = await Promise.all([
    connection.facts(),
    setting(connection, 'appendfsync'),
    setting(connection, 'bind'),
    setting(connection, 'protected-mode'),
  ]);
  const number = (field: string) =>
    /^\d{1,15}$/.test(info[field] ?? '') ? Number(info[field]) : null;
  const word = (field: string) => (info[field] === undefined ? null : printable(info[field]));
  const uptimeSeconds = number('uptime_in_seconds');
  const { mode, role, replication, mark, repliedAt } = identity;
  return {
    server: serverVersionOf(info),
    runId: word('run_id'),
    /** `standalone`, `cluster` or `sentinel`. */
    mode,
    /** `master`, `slave`, `sentinel` or `active-replica`. */
    role: role === null ? word('role') : printable(role),
    /** `active-active`, or null. */
    replication,
    replicaCount: number('connected_slaves'),
    uptimeMs: uptimeSeconds === null ? null : uptimeSeconds * 1000,
    isAppending: info.aof_enabled === undefined ? null : info.aof_enabled === '1',
    /** appendfsync: `always`, `everysec` or `no`. */
    fsync,
    /** Bytes; 0: no limit. */
    maxMemory: number('maxmemory'),
    usedMemory: number('used_memory'),
    evictionPolicy: word('maxmemory_policy'),
    /** Addresses that the server listens on, separated by spaces. */
    bind,
    isProtected: protection === null ? null : protection === 'yes',
    /** Under the prefix, as shown at `repliedAt`; null: it was not asked for, or is hidden. */
    mark,
    repliedAt,
  };
}

/** null where CONFIG is forbidden. */
async function setting(connection: Connection, name: string): Promise<string | null> {
  const reply = await connection.call('CONFIG', 'GET', name);
  return Array.isArray(reply) && typeof reply[1] === 'string' ? printable(reply[1], 200) : null;
}

/** Whether it answers clients that give no password. */
async function answersStrangers(address: MasterAddress, clock: Clock): Promise<boolean | null> {
  const { username, password, passwordSource, ...stranger } = address;
  const connection = await Connection.dial(stranger, clock, maxReplyBytes.brief, null);
  if (isFailed(connection)) return null;
  const reply = await connection.call('PING');
  connection.close();
  if (!isFailed(reply)) return true;
  return reply.cause === 'denied' ? false : null;
}
