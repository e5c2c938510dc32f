// What one job needs, made from its settings: its masters (those that are named, or this user's own
// on this machine), a claim, new for every attempt, a waiter's id, and the lock around this one.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import type { MastersSeen, RunReport } from '../cli/report.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock, Report } from '../lock/ports.ts';
import { quorumOf } from '../lock/quorum.ts';
import type { Claim, Sharing } from '../lock/types.ts';
import { type HolderRecord, newClaim, onSomeSlot } from '../lock/value.ts';
import { waiterIdOf, whoOf } from '../lock/waiter-id.ts';
import { localAddress, type MasterAddress, readPasswords } from '../redis/address.ts';
import { EnclosingLock } from '../redis/enclosing-lock.ts';
import { isFailed } from '../redis/errors.ts';
import { isUnidentified, type ServerRegistry } from '../redis/identity.ts';
import { MastersWatch } from '../redis/masters-watch.ts';
import { LockObserver } from '../redis/observer.ts';
import { RedisMaster } from '../redis/redis-master.ts';
import type { ExitStatus } from '../run/outcome.ts';
import type { Finished, RunEvent } from '../run/ports.ts';
import { userName } from '../system/caller.ts';

export interface JobMasters {
  readonly addresses: readonly MasterAddress[];
  /** Why later runs would not find these masters but others; null: they would. */
  readonly replaced: () => string | null;
}

/** Starts the local masters that are missing. Throws LocalError, ConfigError. */
export async function mastersOf(settings: Settings): Promise<JobMasters> {
  if (!settings.local) {
    await readPasswords(settings.masters);
    return { addresses: settings.masters, replaced: () => null };
  }
  const { startLocalMasters } = await import('../local/local-masters.ts');
  const { rememberServers } = await import('../local/same-servers.ts');
  const directory = settings.localDirectory;
  const sockets = await startLocalMasters({ directory, environment: process.env });
  const replaced = rememberServers(sockets);
  const addresses = sockets.map(localAddress);
  return { addresses, replaced };
}

/** The masters, compared with the lists of other hosts. */
export function watchedMasters(
  settings: Settings,
  addresses: readonly MasterAddress[],
  registry: ServerRegistry,
  clock: Clock,
): { readonly masters: readonly RedisMaster[]; readonly watch: MastersWatch } {
  const { host } = holderRecordOf(settings);
  const watch = new MastersWatch(settings, host, addresses.length, clock);
  const own = { ...settings, ownList: watch.ownList };
  return { watch, masters: addresses.map((one) => new RedisMaster(one, own, registry, clock)) };
}

/** What is to be told of masters that vote: they refuse to say what they are, or are open. */
export function odditiesOf(masters: readonly RedisMaster[]): RunEvent[] {
  const unidentified = masters.flatMap(({ name: master, identity }): RunEvent[] =>
    identity && !isFailed(identity) && isUnidentified(identity)
      ? [{ kind: 'master-unidentified', master }]
      : [],
  );
  const open = masters.filter(({ isLoginIdle }) => isLoginIdle).map(({ name }) => name);
  if (open.length === 0) return unidentified;
  const isMinority = open.length < quorumOf(masters.length);
  return [...unidentified, { kind: 'master-open', master: open.join(', '), isMinority }];
}

/** The lock of the enclosing run under which this job runs (--reentrant); null: it has its own. */
export function enclosingLockOf(
  settings: Settings,
  addresses: readonly MasterAddress[],
  registry: ServerRegistry,
  clock: Clock,
  report: Report,
): EnclosingLock | null {
  if (settings.enclosing === null) return null;
  const observers = addresses.map((one) => new LockObserver(one, settings, registry, clock));
  return new EnclosingLock(settings.enclosing, observers, clock, settings, report);
}

/** What was seen of the queue and of the masters while a run went on. */
export interface Seen extends Pick<RunReport, 'position' | 'slot'> {
  readonly servers: readonly (RedisMaster | LockObserver | MasterAddress)[];
  /** The names of those that are known to fail. */
  readonly failing: ReadonlySet<string>;
}

/** How each master is shown in the report. */
function mastersSeen(servers: Seen['servers'], failing: Seen['failing']): MastersSeen {
  const sound = servers.filter(({ name }) => !failing.has(name));
  const namesOf = (those: typeof servers) => those.map(({ name }) => name);
  return {
    ok: namesOf(sound.filter(hasAnswered)),
    failed: namesOf(servers.filter(({ name }) => failing.has(name))),
    silent: namesOf(sound.filter((server) => !hasAnswered(server))),
  };
}

function hasAnswered(server: Seen['servers'][number]): boolean {
  if ('hasAnswered' in server) return server.hasAnswered;
  return 'identity' in server && server.identity !== null && !isFailed(server.identity);
}

/** Writes the file of --report. Resolves with why it could not be written, or null. */
export async function writeReportOf(
  { reportFile, names, note, url, traceId }: Settings,
  finished: Finished,
  { position, slot, servers, failing }: Seen,
  status: ExitStatus,
): Promise<string | null> {
  if (reportFile === null) return null;
  const { reportOf, writeReport } = await import('../cli/report.ts');
  const masters = mastersSeen(servers, failing);
  const seen = { position, slot, masters, note, url, traceId };
  const report = reportOf(names, finished, seen, status.code);
  return writeReport(reportFile, report);
}

/** The masters tell no more of a waiter's id. */
const mostIdBytes = 200;

/** A claim with a value that was never used before. */
export function claimFor(settings: Settings): Claim {
  const { names: resources, ttlMs, isFenced, preemptible, holdAtLeastMs } = settings;
  const kept = holdAtLeastMs > 0 ? { keptMs: holdAtLeastMs } : {};
  const record = { ...holderRecordOf(settings), ...kept, since: new Date().toISOString() };
  const wish = { resources, sharing: sharingOf(settings), preemptible, ttlMs, isFenced };
  return newClaim(wish, randomBytes(20).toString('base64url'), record);
}

export function waiterIdFor(settings: Settings, runId: string): string {
  const { preemptible, note } = settings;
  const traits = { sharing: sharingOf(settings), preemptible };
  const record = holderRecordOf(settings);
  for (let kept = note ?? ''; ; kept = [...kept].slice(0, -1).join('').trimEnd()) {
    const id = waiterIdOf(traits, runId, whoOf({ ...record, note: kept }));
    if (kept === '' || Buffer.byteLength(id) <= mostIdBytes) return id;
  }
}

/** The holder record without its time, for the lock and for its history. */
export function holderRecordOf({
  command,
  label,
  note,
  url,
}: Settings): Omit<HolderRecord, 'since'> {
  ourselves ??= { host: os.hostname(), pid: process.pid, user: userName() };
  return {
    ...ourselves,
    label: label ?? path.basename(command[0] ?? ''),
    ...(note === null ? {} : { note }),
    ...(url === null ? {} : { url }),
  };
}

/** Found out once: the system reads files for it, and every attempt needs it. */
let ourselves: Pick<HolderRecord, 'host' | 'pid' | 'user'> | null = null;

function sharingOf({ sharing, slotCount }: Settings): Sharing {
  if (sharing !== 'slots') return { kind: sharing };
  assert(slotCount !== null, 'slots without a number of them');
  return onSomeSlot(slotCount, Math.random);
}
