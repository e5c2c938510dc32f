// What one job needs, made from its settings: its masters (those that are named, or this user's own
// on this machine), its lock or the one around it, a claim, new for every attempt, a waiter's id.

import { randomBytes } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { isOwnHold } from '../cli/own-hold.ts';
import type { Settings } from '../config/settings.ts';
import { acquireLock } from '../lock/acquire.ts';
import { HolderChannel, type Listen } from '../lock/people.ts';
import type { Clock } from '../lock/ports.ts';
import { quorumOf } from '../lock/quorum.ts';
import { type HeldLock, Redlock } from '../lock/redlock.ts';
import type { Claim } from '../lock/types.ts';
import { type HolderRecord, newClaim, sharingOf } from '../lock/value.ts';
import type { Acquisition } from '../lock/wait.ts';
import { waiterIdOf, whoOf } from '../lock/waiter-id.ts';
import { localAddress, type MasterAddress, readPasswords } from '../redis/address.ts';
import { isFailed } from '../redis/errors.ts';
import { isUnidentified } from '../redis/identity.ts';
import { MastersWatch } from '../redis/masters-watch.ts';
import { type Server, serversAt } from '../redis/server.ts';
import { withHistory } from '../run/acquisition.ts';
import { enclosingLock } from '../run/enclosing-lock.ts';
import { HistoryLines } from '../run/history-lines.ts';
import { entryOf } from '../run/outcome.ts';
import type { RunParts } from '../run/ports.ts';
import { RunError } from '../run/preconditions.ts';
import type { ReportRun, RunEvent, Seen } from '../run/record.ts';
import { userName } from '../system/caller.ts';
import { createSystemClock, maxTimerMs, systemSources } from '../system/clock.ts';
import { type EnclosingLease, heldAroundOf } from '../text/held-locks.ts';

export interface JobMasters {
  readonly addresses: readonly MasterAddress[];
  /** Why later runs would not find these masters but others; null: they would. */
  readonly whyMastersReplaced: () => string | null;
}

/** Starts the local masters that are missing. Throws LocalError, ConfigError. */
export async function mastersOf(settings: Settings): Promise<JobMasters> {
  const named = { addresses: settings.masters, whyMastersReplaced: () => null };
  if (settings.enclosing !== null) return named; // None is asked.
  if (!settings.local) {
    await readPasswords(settings.masters);
    return named;
  }
  const { rememberServers, startLocalMasters } = await import('../local/local-masters.ts');
  const sockets = await startLocalMasters(settings.localDirectory, process.env);
  const whyMastersReplaced = rememberServers(sockets);
  const addresses = sockets.map(localAddress);
  return { addresses, whyMastersReplaced };
}

/** The lock of a job: its own, or the one around it. */
export interface JobLock {
  readonly clock: Clock;
  readonly report: ReportRun;
  readonly held: HeldLock;
  readonly acquire: (aborted: AbortSignal) => Promise<Acquisition>;
  /** Of the lock that counts; addresses where none is asked. */
  readonly servers: readonly (Server | MasterAddress)[];
  /** null: people ask the enclosing run, which ends this one. */
  readonly listen: Listen | null;
  readonly lineOf: RunParts['lineOf'];
  /** Resolves when the connections have ended. */
  readonly close: () => Promise<void>;
}

/** `tell` receives all events; `seen`: what they have shown so far. */
export function lockOf(
  settings: Settings,
  masters: JobMasters,
  tell: ReportRun,
  seen: () => Seen,
): JobLock {
  const noteJump = (ms: number) => tell({ kind: 'clock-jumped', ms });
  const clock = createSystemClock(noteJump, systemSources, maxTimerMs.guarded);
  return settings.enclosing === null
    ? ownLockOf(settings, masters, clock, tell, seen)
    : enclosingLockOf(settings, settings.enclosing, clock, tell);
}

function ownLockOf(
  settings: Settings,
  { addresses, whyMastersReplaced }: JobMasters,
  clock: Clock,
  tell: ReportRun,
  seen: () => Seen,
): JobLock {
  const { conflictExitCode, differingMasters, hasHistory } = settings;
  const self = holderRecordOf(settings);
  const masters = serversAt(addresses, settings, clock, 'lock');
  const watch = new MastersWatch(masters, clock, self.host, differingMasters, hasHistory);
  const historyLines = new HistoryLines(self, conflictExitCode, clock, seen);
  const report: ReportRun = (event) => {
    tell(event);
    watch.see(event, tell);
    if (event.kind === 'acquired') odditiesOf(masters).forEach(tell);
  };
  const redlock = new Redlock(masters, clock, settings, report);
  const runId = randomBytes(12).toString('hex');
  const acquire = (aborted: AbortSignal) => {
    const request = {
      ...settings,
      redlock,
      clock,
      report,
      random: Math.random,
      newClaim: () => claimFor(settings),
      waiterId: waiterIdFor(settings, runId),
      isHeldAround: heldAroundOf(process.env, settings.names, (one) => isOwnHold(one, self.host)),
      servers: watch.servers,
      areServersKnown: false,
      whyUseless: () => uselessBy(whyMastersReplaced()),
      aborted,
    };
    return acquireLock(settings.hasHistory ? withHistory(request, historyLines, runId) : request);
  };
  return {
    clock,
    report,
    held: redlock,
    acquire,
    servers: masters,
    listen: (...asked) => new HolderChannel(masters, ...asked),
    lineOf: ({ token }, record) =>
      hasHistory ? entryOf(token, self, record, conflictExitCode) : null,
    close: async () => {
      await Promise.all(masters.map((master) => master.close()));
    },
  };
}

/** The lock of the run around this one (--reentrant). */
function enclosingLockOf(
  settings: Settings,
  lease: EnclosingLease,
  clock: Clock,
  report: ReportRun,
): JobLock {
  const held = enclosingLock(lease, clock, settings.driftFactor, report);
  return {
    clock,
    report,
    held,
    acquire: async (aborted) => (aborted.aborted ? { kind: 'aborted' } : held.acquire()),
    servers: settings.masters,
    listen: null,
    lineOf: () => null,
    close: async () => {},
  };
}

/** Why a lock on masters that were replaced is of no use. */
function uselessBy(mastersReplaced: string | null): RunError | null {
  return mastersReplaced === null ? null : new RunError(`${mastersReplaced} (try again)`);
}

/** What is to be told of masters that vote: they refuse to say what they are, or are open. */
export function odditiesOf(masters: readonly Server[]): RunEvent[] {
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

/** The masters tell no more of a waiter's id. */
const maxIdBytes = 200;

/** A claim with a value that was never used before. */
export function claimFor(settings: Settings): Claim {
  const { names: resources, ttlMs, isFenced, holdAtLeastMs } = settings;
  const kept = holdAtLeastMs > 0 ? { keptMs: holdAtLeastMs } : {};
  const record = { ...holderRecordOf(settings), ...kept, since: new Date().toISOString() };
  const wish = { ...formOf(settings), resources, ttlMs, isFenced };
  return newClaim(wish, randomBytes(20).toString('base64url'), record);
}

export function waiterIdFor(settings: Settings, runId: string): string {
  const { note } = settings;
  const traits = formOf(settings);
  const record = holderRecordOf(settings);
  for (let kept = note ?? ''; ; kept = [...kept].slice(0, -1).join('').trimEnd()) {
    const id = waiterIdOf(traits, runId, whoOf({ ...record, note: kept }));
    if (kept === '' || Buffer.byteLength(id) <= maxIdBytes) return id;
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

/** A run that may be replaced may also be superseded while it waits. */
function formOf({
  isShared,
  slotCount,
  isSuperseded,
  isReplaced,
}: Settings): Pick<Claim, 'sharing' | 'preemptible'> {
  const unlessReplaced = isSuperseded ? 'supersede' : 'never';
  return {
    sharing: sharingOf(isShared, slotCount, Math.random),
    preemptible: isReplaced ? 'replace' : unlessReplaced,
  };
}
