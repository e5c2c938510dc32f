// The lock of one job, made from its settings: its own, on the masters that are named or on this
// user's own on this machine, or the one of the run around it.

import { randomBytes } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { isOwnHold } from '../cli/own-hold.ts';
import type { Settings } from '../config/settings.ts';
import { acquireLock } from '../lock/acquire.ts';
import { HolderChannel } from '../lock/people.ts';
import type { Clock } from '../lock/ports.ts';
import { quorumOf } from '../lock/quorum.ts';
import { Redlock } from '../lock/redlock.ts';
import type { Claim } from '../lock/types.ts';
import { type HolderRecord, newClaim, sharingOf } from '../lock/value.ts';
import { waiterIdOf, whoOf } from '../lock/waiter-id.ts';
import { localAddress, type MasterAddress, readPasswords } from '../redis/address.ts';
import { isFailed } from '../redis/errors.ts';
import { isUnidentified } from '../redis/identity.ts';
import { MastersWatch } from '../redis/masters-watch.ts';
import { type Server, serversAt } from '../redis/server.ts';
import { historyOf } from '../run/acquisition.ts';
import { enclosingLock } from '../run/enclosing-lock.ts';
import { entryOf } from '../run/outcome.ts';
import type { RunLock } from '../run/ports.ts';
import { RunError } from '../run/preconditions.ts';
import type { ReportRun, RunEvent, Seen } from '../run/record.ts';
import { userName } from '../system/caller.ts';
import { type EnclosingLease, heldAroundOf } from '../text/held-locks.ts';

export interface JobLock extends RunLock {
  readonly report: ReportRun;
  /** Those of the lock that counts; addresses where none is asked. */
  readonly servers: readonly (Server | MasterAddress)[];
  /** Resolves when the connections have ended. */
  readonly close: () => Promise<void>;
}

/**
 * `tell` receives all events; `seen`: what they have shown so far. Starts the local masters that
 * are missing.
 * @throws LocalError, ConfigError
 */
export async function lockOf(
  settings: Settings,
  clock: Clock,
  tell: ReportRun,
  seen: () => Seen,
): Promise<JobLock> {
  const { enclosing, masters, local } = settings;
  if (enclosing !== null) return enclosingLockOf(settings, enclosing, clock, tell);
  if (!local) {
    await readPasswords(masters);
    return ownLockOf(settings, masters, () => null, clock, tell, seen);
  }
  const { rememberServers, startLocalMasters } = await import('../local/local-masters.ts');
  const sockets = await startLocalMasters(settings.localDirectory, process.env);
  const whyReplaced = rememberServers(sockets);
  return ownLockOf(settings, sockets.map(localAddress), whyReplaced, clock, tell, seen);
}

/** `whyReplaced`: why later runs would not find these masters but others; null: they would. */
function ownLockOf(
  settings: Settings,
  addresses: readonly MasterAddress[],
  whyReplaced: () => string | null,
  clock: Clock,
  tell: ReportRun,
  seen: () => Seen,
): JobLock {
  const { conflictExitCode, differingMasters, hasHistory, names } = settings;
  const self = holderRecordOf(settings);
  const runId = randomBytes(12).toString('hex');
  const masters = serversAt(addresses, settings, clock, 'lock');
  const watch = new MastersWatch(masters, clock, self.host, differingMasters, hasHistory);
  const withHistory = historyOf(self, runId, conflictExitCode, clock, seen);
  const report: ReportRun = (event) => {
    tell(event);
    watch.see(event, tell);
    if (event.kind === 'acquired') odditiesOf(masters).forEach(tell);
  };
  const redlock = new Redlock(masters, clock, settings, report);
  const acquire = (aborted: AbortSignal) => {
    const request = {
      ...settings,
      redlock,
      clock,
      report,
      random: Math.random,
      newClaim: () => claimFor(settings),
      waiterId: waiterIdFor(settings, runId),
      isHeldAround: heldAroundOf(process.env, names, (one) => isOwnHold(one, self.host)),
      servers: watch.servers,
      areServersKnown: false,
      whyUseless: () => {
        const why = whyReplaced();
        return why === null ? null : new RunError(`${why} (try again)`);
      },
      aborted,
    };
    return acquireLock(hasHistory ? withHistory(request) : request);
  };
  return {
    report,
    held: redlock,
    acquire,
    servers: masters,
    areMastersReplaced: () => whyReplaced() !== null,
    listen: (...asked) => new HolderChannel(masters, ...asked),
    entryOf: ({ token }, record) =>
      hasHistory ? entryOf(token, self, record, conflictExitCode) : null,
    close: async () => {
      await Promise.all(masters.map((master) => master.close()));
    },
  };
}

/** The lock of the run around this one (--reentrant), which receives the requests of operators. */
function enclosingLockOf(
  { driftFactor, masters }: Settings,
  lease: EnclosingLease,
  clock: Clock,
  report: ReportRun,
): JobLock {
  const held = enclosingLock(lease, clock, driftFactor, report);
  return {
    report,
    held,
    acquire: async (aborted) => (aborted.aborted ? { kind: 'aborted' } : held.acquire()),
    servers: masters,
    areMastersReplaced: () => false,
    listen: null,
    entryOf: () => null,
    close: async () => {},
  };
}

/** Reports of masters that vote, and refuse to say what they are, or are open. */
function odditiesOf(masters: readonly Server[]): RunEvent[] {
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

/** What the masters show of a waiter's id. */
const maxIdBytes = 200;

/** A claim with a value that was never used before. */
export function claimFor(settings: Settings): Claim {
  const { names: resources, ttlMs, isFenced, holdAtLeastMs } = settings;
  const kept = holdAtLeastMs > 0 ? { keptMs: holdAtLeastMs } : {};
  const record = { ...holderRecordOf(settings), ...kept, since: new Date().toISOString() };
  const wish = { ...formOf(settings), resources, ttlMs, isFenced };
  return newClaim(wish, randomBytes(20).toString('base64url'), record);
}

function waiterIdFor(settings: Settings, runId: string): string {
  const traits = formOf(settings);
  const record = holderRecordOf(settings);
  for (let kept = settings.note ?? ''; ; kept = [...kept].slice(0, -1).join('').trimEnd()) {
    const id = waiterIdOf(traits, runId, whoOf({ ...record, note: kept }));
    if (kept === '' || Buffer.byteLength(id) <= maxIdBytes) return id;
  }
}

/** The holder record without its time, for the lock and for its history. */
export function holderRecordOf(settings: Settings): Omit<HolderRecord, 'since'> {
  const { command, label, note, url } = settings;
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
function formOf(settings: Settings): Pick<Claim, 'sharing' | 'preemptible'> {
  const { isShared, slotCount, isSuperseded, isReplaced } = settings;
  const unlessReplaced = isSuperseded ? 'supersede' : 'never';
  return {
    sharing: sharingOf(isShared, slotCount, Math.random),
    preemptible: isReplaced ? 'replace' : unlessReplaced,
  };
}
