// What a master tells about itself. null: it does not tell, or in an unknown form. *Note:* servers
// that refuse INFO or CONFIG are common (managed services), so null must never count as ok.

import type { Clock } from '../../lock/ports.ts';
import type { Failed } from '../../lock/types.ts';
import type { MasterAddress } from '../../redis/address.ts';
import { Connection } from '../../redis/connection.ts';
import { isFailed } from '../../redis/errors.ts';
import type { LockObserver } from '../../redis/inspector.ts';
import { testMaster } from '../../redis/self-test.ts';
import { printable } from '../../text/printable.ts';
import type { MasterQuery } from '../master-query.ts';
import type { CtlSettings } from '../settings.ts';
import { type ClockReading, readClock } from './clock-reading.ts';
import { type ServerVersion, serverVersionOf } from './server-version.ts';

export interface MasterFacts {
  readonly address: MasterAddress;
  readonly server: ServerVersion | null;
  readonly runId: string | null;
  /** `standalone`, `cluster` or `sentinel`. */
  readonly mode: string | null;
  /** `master`, `slave` or `sentinel`. */
  readonly role: string | null;
  readonly replicaCount: number | null;
  readonly uptimeMs: number | null;
  readonly isAppending: boolean | null;
  /** appendfsync: `always`, `everysec` or `no`. */
  readonly fsync: string | null;
  /** Bytes; 0: no limit. */
  readonly maxMemory: number | null;
  readonly usedMemory: number | null;
  readonly evictionPolicy: string | null;
  /** Addresses that the server listens on, separated by spaces. */
  readonly bind: string | null;
  readonly isProtected: boolean | null;
  /** Whether it answers clients that give no password. */
  readonly isOpen: boolean | null;
  /** Round trips, the shortest first. */
  readonly roundTripsMs: readonly number[];
  /** Readings of the master's clock, at the start and at least a second later. */
  readonly clockReadings: readonly ClockReading[];
  /** Why the master could not keep a lock; null: it could. */
  readonly refusal: Failed | null;
}

/** The least time between the two readings of a clock. */
const betweenReadingsMs = 1_000;

/** Facts about each master, or why there are none. Takes at least a second. */
export async function gatherFacts(
  query: MasterQuery,
  settings: CtlSettings,
  clock: Clock,
): Promise<(MasterFacts | Failed)[]> {
  // A master that does not answer this in time is not asked further.
  await query.ask(async (observer) => {
    const connection = await observer.connected();
    return isFailed(connection) ? connection : connection.identity;
  });
  const timeoutMs = betweenReadingsMs + 5 * settings.masterTimeoutMs;
  return query.ask((observer) => examine(observer, settings, clock), timeoutMs);
}

async function examine(
  observer: LockObserver,
  settings: CtlSettings,
  clock: Clock,
): Promise<MasterFacts | Failed> {
  const connection = await observer.connected();
  if (isFailed(connection)) return connection;
  const startedAt = clock.now();
  const askTime = () => connection.call('TIME');
  const before = await readClock(askTime);
  const told = await tell(connection);
  const open = await isOpen(observer.address, clock);
  const refusal = await testMaster(observer, settings, clock);
  await clock.sleep(betweenReadingsMs - (clock.now() - startedAt));
  const after = await readClock(askTime);
  if (isFailed(before)) return before;
  if (isFailed(after)) return after;
  const roundTripsMs = [...before.roundTripsMs, ...after.roundTripsMs].sort((a, b) => a - b);
  const clockReadings = [before.reading, after.reading];
  return {
    address: observer.address,
    ...told,
    isOpen: open,
    refusal,
    roundTripsMs,
    clockReadings,
  };
}

type Told = Omit<MasterFacts, 'address' | 'isOpen' | 'roundTripsMs' | 'clockReadings' | 'refusal'>;

async function tell(connection: Connection): Promise<Told> {
  const [info, role, fsync, bind, protection] = await Promise.all([
    connection.facts(),
    connection.call('ROLE'),
    setting(connection, 'appendfsync'),
    setting(connection, 'bind'),
    setting(connection, 'protected-mode'),
  ]);
  const number = (field: string) =>
    /^\d{1,15}$/.test(info[field] ?? '') ? Number(info[field]) : null;
  const word = (field: string) => (info[field] === undefined ? null : printable(info[field]));
  const uptimeSeconds = number('uptime_in_seconds');
  const [roleWord]: unknown[] = Array.isArray(role) ? role : [];
  return {
    server: serverVersionOf(info),
    runId: word('run_id'),
    // Valkey 8 and newer have another name for it.
    mode: word('redis_mode') ?? word('server_mode'),
    role: typeof roleWord === 'string' ? printable(roleWord) : word('role'),
    replicaCount: number('connected_slaves'),
    uptimeMs: uptimeSeconds === null ? null : uptimeSeconds * 1000,
    isAppending: info.aof_enabled === undefined ? null : info.aof_enabled === '1',
    fsync,
    maxMemory: number('maxmemory'),
    usedMemory: number('used_memory'),
    evictionPolicy: word('maxmemory_policy'),
    bind,
    isProtected: protection === null ? null : protection === 'yes',
  };
}

/** null where CONFIG is forbidden. */
async function setting(connection: Connection, name: string): Promise<string | null> {
  const reply = await connection.call('CONFIG', 'GET', name);
  return Array.isArray(reply) && typeof reply[1] === 'string' ? printable(reply[1], 200) : null;
}

async function isOpen(address: MasterAddress, clock: Clock): Promise<boolean | null> {
  const { username, password, passwordSource, ...stranger } = address;
  const connection = await Connection.dial(stranger, clock);
  if (isFailed(connection)) return null;
  const reply = await connection.call('PING');
  connection.close();
  if (!isFailed(reply)) return true;
  return reply.cause === 'denied' ? false : null;
}
