// What a master tells about itself. null: it does not tell, or in an unknown form. *Note:* servers
// that refuse INFO or CONFIG are common (managed services), so null must never count as ok.

import type { Clock } from '../../lock/ports.ts';
import { usualDriftFactor } from '../../lock/quorum.ts';
import type { Failed } from '../../lock/types.ts';
import type { MasterAddress } from '../../redis/address.ts';
import { scripts } from '../../redis/calls/scripts.ts';
import { mostBytes } from '../../redis/connection/client.ts';
import { Connection } from '../../redis/connection/connection.ts';
import { isFailed } from '../../redis/errors.ts';
import type { ServerIdentity } from '../../redis/identity.ts';
import { markKeyOf } from '../../redis/keys.ts';
import { parseLists, type UsedList } from '../../redis/master-lists.ts';
import type { LockObserver } from '../../redis/observer.ts';
import { as, decimal, readReply, tuple } from '../../redis/replies.ts';
import { testMaster } from '../../redis/self-test.ts';
import { printable } from '../../text/foreign-text.ts';
import type { CtlSettings } from '../call.ts';
import type { MasterQuery } from '../master-query.ts';

// The name and the version of a server, from its INFO. Valkey also reports a Redis version, which
// is always the same.

export interface ServerVersion {
  readonly name: 'Redis' | 'Valkey';
  /** Digits and points, as in 7.0.15. */
  readonly version: string;
}

/** `info`: by field. null: it does not tell, or tells no version. */
export function serverVersionOf(info: Readonly<Record<string, string>>): ServerVersion | null {
  const versionIn = (field: string) =>
    /^\d{1,4}(\.\d{1,9}){1,3}(?![\d.])/.exec(info[field] ?? '')?.[0] ?? null;
  const valkey = versionIn('valkey_version');
  if (valkey !== null) return { name: 'Valkey', version: valkey };
  const redis = versionIn('redis_version');
  return redis === null ? null : { name: 'Redis', version: redis };
}

// How far a master's clock is from this machine's, and how exactly that is known. The master reads
// its clock at some moment of the round trip, so the reading with the shortest round trip counts,
// and half of that trip is its uncertainty.

export interface ClockReading {
  /** By the clock of this machine, in ms. */
  readonly at: number;
  /** How far the master's clock was ahead of it. */
  readonly aheadMs: number;
  /** The true value is at most this far from `aheadMs`. */
  readonly uncertaintyMs: number;
}

const readingCount = 5;
/** TIME may answer with the time at which the server began to read the command. */
const cachedMs = 1;

const serverTime = as(
  tuple(decimal(), decimal(0, 999_999)),
  ([seconds, microseconds]) => seconds * 1000 + microseconds / 1000,
);

/**
 * The time of day when this program started, plus the time since then: steps of the machine's clock
 * do not change it.
 */
const steadyNow = () => performance.timeOrigin + performance.now();

/** `askTime` sends TIME. `now`: the clock of this machine, in ms. */
export async function readClock(
  askTime: () => Promise<unknown | Failed>,
  now: () => number = steadyNow,
): Promise<{ readonly reading: ClockReading; readonly roundTripsMs: readonly number[] } | Failed> {
  const readings: ClockReading[] = [];
  for (let count = 0; count < readingCount; count += 1) {
    // One reading on either side: every delay in between is part of the round trip.
    const sentAt = now();
    const reply = await askTime();
    const answeredAt = now();
    if (isFailed(reply)) return reply;
    const masterMs = readReply(serverTime, reply);
    if (isFailed(masterMs)) return masterMs;
    const at = (sentAt + answeredAt) / 2;
    readings.push({
      at,
      aheadMs: masterMs - at,
      uncertaintyMs: (answeredAt - sentAt) / 2 + cachedMs,
    });
  }
  const [reading] = [...readings].sort((a, b) => a.uncertaintyMs - b.uncertaintyMs) as [
    ClockReading,
  ];
  return {
    reading,
    roundTripsMs: readings.map(({ uncertaintyMs }) => (uncertaintyMs - cachedMs) * 2),
  };
}

export interface ClockRate {
  /** How much faster the master's clock runs than this machine's: 0.01 is one percent. */
  readonly rate: number;
  /** The part of it that is certain. */
  readonly least: number;
}

/** A rate below this is harmless: half of the drift allowance. */
export const tolerableRate = usualDriftFactor / 2;

/**
 * From readings in their order. null: the clock was set in between. A clock that was set shows
 * another rate once, one that runs at another rate each time.
 */
export function rateOf(readings: readonly ClockReading[]): ClockRate | null {
  const rates = readings
    .slice(1)
    .map((last, at) => rateBetween(readings[at] as ClockReading, last));
  const off = rates.filter(({ least }) => Math.abs(least) >= tolerableRate);
  const isEachOff = off.length === rates.length;
  const isOneWay = off.every(({ least }) => Math.sign(least) === Math.sign(off[0]?.least ?? 0));
  if (off.length > 0 && !(isEachOff && isOneWay)) return null;
  const [smallest] = [...rates].sort((a, b) => Math.abs(a.least) - Math.abs(b.least));
  return smallest ?? { rate: 0, least: 0 };
}

function rateBetween(first: ClockReading, last: ClockReading): ClockRate {
  const rate = (last.aheadMs - first.aheadMs) / (last.at - first.at);
  const doubt = (first.uncertaintyMs + last.uncertaintyMs) / (last.at - first.at);
  return { rate, least: Math.sign(rate) * Math.max(0, Math.abs(rate) - doubt) };
}

/** Its mark; null: there is none. */
export interface MarkFact {
  readonly id: string | null;
  /** By our clock, and for how long it has stood by the master's. */
  readonly since: number | null;
  readonly forMs: number | null;
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
  /** Which hosts have used which lists of masters; null: it was not asked for, or is not shown. */
  readonly lists: readonly UsedList[] | null;
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
  await query.ask(async (observer) => {
    const connection = await observer.connected();
    return isFailed(connection) ? connection : connection.identity;
  });
  const timeoutMs = 2 * betweenReadingsMs + 5 * settings.masterTimeoutMs;
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
  const identity = await connection.identity;
  if (isFailed(identity)) return identity;
  const told = await tell(connection, identity);
  const open = await isOpen(observer.address, clock);
  const refusal = await testMaster(observer, settings, clock);
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
    address: observer.address,
    ...told,
    isOpen: open,
    refusal,
    roundTripsMs,
    clockReadings,
    mark: markFactOf(identity, clock),
    lists: await listsOn(connection, settings, clock),
  };
}

function markFactOf({ mark }: ServerIdentity, clock: Clock): MarkFact | null {
  if (mark === null || mark.id === null) return mark && { id: null, since: null, forMs: null };
  return { ...mark, id: mark.id, forMs: clock.now() - mark.since };
}

/** Of all hosts: a run gets one for each list. */
async function listsOn(
  connection: Connection,
  { prefix, differingMasters }: CtlSettings,
  clock: Clock,
): Promise<MasterFacts['lists']> {
  if (differingMasters === 'ignore') return null;
  const reply = await connection.eval(scripts.lists, [markKeyOf(prefix)], '', '');
  return parseLists(reply, clock.now());
}

type Told = Omit<
  MasterFacts,
  'address' | 'isOpen' | 'roundTripsMs' | 'clockReadings' | 'mark' | 'lists' | 'refusal'
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
  const meeting = { mostBytes: mostBytes.brief, mark: null, ownList: null };
  const connection = await Connection.dial(stranger, clock, meeting);
  if (isFailed(connection)) return null;
  const reply = await connection.call('PING');
  connection.close();
  if (!isFailed(reply)) return true;
  return reply.cause === 'denied' ? false : null;
}
