// What a master tells about itself. null: it does not tell, or in an unknown form. *Note:* servers
// that refuse INFO or CONFIG are common (managed services), so null must never count as ok.

import type { Clock } from '../../lock/ports.ts';
import type { Failed } from '../../lock/types.ts';
import type { MasterAddress } from '../../redis/address.ts';
import { maxReplyBytes } from '../../redis/connection/client.ts';
import { Connection } from '../../redis/connection/connection.ts';
import { isFailed } from '../../redis/errors.ts';
import type { ServerIdentity, UsedSet } from '../../redis/identity.ts';
import { testMaster } from '../../redis/self-test.ts';
import type { Server } from '../../redis/server.ts';
import { printable } from '../../text/foreign-text.ts';
import type { MasterQuery } from '../master-query.ts';
import type { CtlSettings } from '../settings.ts';
import { type ClockReading, rateOf, readClock, tolerableRate } from './clock-rate.ts';
import { type ServerVersion, serverVersionOf } from './server-version.ts';

/** Its mark; null: there is none. */
export interface MarkFact {
  readonly id: string | null;
  /** By our clock, and for how long it has stood by the master's. */
  readonly since: number | null;
  readonly forMs: number | null;
  /** The sets of masters that hosts have used lately. */
  readonly sets: readonly UsedSet[];
}

export interface MasterFacts {
  readonly address: MasterAddress;
  readonly server: ServerVersion | null;
  readonly runId: string | null;
  /** `standalone`, `cluster` or `sentinel`. */
  readonly mode: string | null;
  /** `master`, `slave`, `sentinel` or `active-replica`. */
  readonly role: string | null;
  /** `active-active`, or null. */
  readonly replication: string | null;
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
  /** Readings of the master's clock, at least a second apart. */
  readonly clockReadings: readonly ClockReading[];
  /** Its mark under the prefix; null: it was not asked for, or is not shown. */
  readonly mark: MarkFact | null;
  /** Why the master could not keep a lock; null: it could. */
  readonly refusal: Failed | null;
}

/** The least time between the two readings of a clock. */
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

async function examine(
  server: Server<MasterAddress>,
  settings: CtlSettings,
  clock: Clock,
): Promise<MasterFacts | Failed> {
  const connection = await server.connected();
  if (isFailed(connection)) return connection;
  const startedAt = clock.now();
  const askTime = () => connection.call('TIME');
  const before = await readClock(askTime);
  const identity = await connection.identity;
  if (isFailed(identity)) return identity;
  const told = await tell(connection, identity);
  const open = await isOpen(server.origin, clock);
  const refusal = await testMaster(server.origin, settings, clock);
  await clock.sleep(betweenReadingsMs - (clock.now() - startedAt));
  const after = await readClock(askTime);
  if (isFailed(before)) return before;
  if (isFailed(after)) return after;
  const roundTripsMs = [...before.roundTripsMs, ...after.roundTripsMs].sort((a, b) => a - b);
  const clockReadings = [before.reading, after.reading];
  if (Math.abs(rateOf(clockReadings)?.least ?? 0) >= tolerableRate) {
    await clock.sleep(betweenReadingsMs);
    const again = await readClock(askTime);
    if (isFailed(again)) return again;
    clockReadings.push(again.reading);
  }
  return {
    address: server.origin,
    ...told,
    isOpen: open,
    refusal,
    roundTripsMs,
    clockReadings,
    mark: markFactOf(identity, clock),
  };
}

function markFactOf({ mark }: ServerIdentity, clock: Clock): MarkFact | null {
  if (mark === null || mark.id === null)
    return mark && { id: null, since: null, forMs: null, sets: [] };
  return { ...mark, id: mark.id, forMs: clock.now() - mark.since };
}

type Told = Omit<
  MasterFacts,
  'address' | 'isOpen' | 'roundTripsMs' | 'clockReadings' | 'mark' | 'refusal'
>;

async function tell(connection: Connection, identity: ServerIdentity): Promise<Told> {
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
  const { mode, role, replication } = identity;
  return {
    server: serverVersionOf(info),
    runId: word('run_id'),
    mode,
    role: role === null ? word('role') : printable(role),
    replication,
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
  const connection = await Connection.dial(stranger, clock, maxReplyBytes.brief, null);
  if (isFailed(connection)) return null;
  const reply = await connection.call('PING');
  connection.close();
  if (!isFailed(reply)) return true;
  return reply.cause === 'denied' ? false : null;
}
