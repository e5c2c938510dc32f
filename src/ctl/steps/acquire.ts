// `redlockctl acquire NAME`: acquires a lock for a script and prints its token. The lock outlives
// this program and is neither extended nor guarded, so the ttl has to last for the work, or until
// the next `extend`.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { OwnHold } from '../../cli/own-hold.ts';
import { WaitNotice, waitStateOf } from '../../cli/wait-notice.ts';
import { HolderChannel, type Listen } from '../../lock/holder-channel.ts';
import type { Clock, LockEvent } from '../../lock/ports.ts';
import { Redlock } from '../../lock/redlock.ts';
import { dangerOf, heldTimings } from '../../lock/timings.ts';
import type { Lease, Sharing } from '../../lock/types.ts';
import type { HolderRecord } from '../../lock/value.ts';
import type { NotAcquired } from '../../lock/wait.ts';
import { waiterIdOf, whoOf } from '../../lock/waiter-id.ts';
import type { MasterAddress } from '../../redis/address.ts';
import { ServerRegistry } from '../../redis/identity.ts';
import { differenceLine, type OwnList } from '../../redis/master-lists.ts';
import { MastersWatch } from '../../redis/masters-watch.ts';
import { RedisMaster } from '../../redis/redis-master.ts';
import { ConfigError, exitCode, UsageError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { heldAroundOf } from '../../text/held-locks.ts';
import {
  busyAdvice,
  busyLine,
  failuresLine,
  heldAround,
  holderLine,
  noQuorumLine,
  supersededLine,
  tooSlowLine,
} from '../../text/lines.ts';
import { renderDuration } from '../../text/time.ts';
import { addressesOf } from '../addresses.ts';
import type { Call } from '../call.ts';
import type { CtlSettings } from '../settings.ts';
import { type AcquireOnceParts, acquireOnce, type Wanted } from './acquire-once.ts';

/** A Redlock with connections of its own, which `close` ends; and the wait that it is told of. */
interface OpenedRedlock extends Pick<AcquireOnceParts, 'redlock' | 'servers' | 'report'> {
  readonly listen: Listen;
  readonly close: () => void;
  /** The wait is over. */
  readonly endNotice: () => void;
}

/** For a new lock: lists of masters are compared, and a difference is told. */
export async function openRedlock(
  call: Pick<Call, 'args' | 'settings' | 'clock' | 'holderRecord' | 'stderr' | 'environment'>,
  tell: (text: string) => void,
): Promise<OpenedRedlock> {
  const { settings, clock, holderRecord } = call;
  const addresses = await addressesOf(settings);
  const { host } = holderRecord();
  const watch = new MastersWatch(settings, host, addresses.length, clock);
  const notice = noticeOf(call, tell);
  const ownHold = new OwnHold([nameOf(call)], host, (line) => {
    notice.interrupt();
    tell(`warning: ${line}`);
  });
  const report = (event: LockEvent) => {
    if (event.kind === 'masters-differ') {
      notice.interrupt();
      return tell(`warning: ${differenceLine(event)}`);
    }
    const isWait = event.kind === 'waiting' || event.kind === 'no-quorum';
    if (isWait && settings.waitMs !== 0) notice.update(waitStateOf(event, null), event.waitedMs);
    if (event.kind === 'acquired') notice.end();
    ownHold.see(event);
    watch.see(event, report);
  };
  const { masters, ...opened } = openOn(addresses, settings, clock, watch.ownList);
  return { ...opened, servers: watch.serversOf(masters), report, endNotice: () => notice.end() };
}

/** What is told of a wait, as by redlock-run. */
function noticeOf(
  call: Pick<Call, 'args' | 'settings' | 'stderr' | 'environment'>,
  tell: (text: string) => void,
): WaitNotice {
  const { stderr, environment } = call;
  const names = [nameOf(call)];
  const { waitMs } = call.settings;
  const print = (line: string, paint: (line: string) => string) => tell(paint(line));
  return new WaitNotice({ names, waitMs, print, isPlain: false }, stderr, environment);
}

/** For a lock that stands: it is not taken, so no lists are compared. */
export async function openStanding(settings: CtlSettings, clock: Clock) {
  return openOn(await addressesOf(settings), settings, clock, null);
}

function openOn(
  addresses: readonly MasterAddress[],
  settings: CtlSettings,
  clock: Clock,
  ownList: OwnList | null,
) {
  const registry = new ServerRegistry();
  const masters = addresses.map(
    (address) => new RedisMaster(address, { ...settings, ownList }, registry, clock),
  );
  const timings = heldTimings(settings.ttlMs, settings.masterTimeoutMs);
  const redlock = new Redlock(masters, clock, timings, () => {});
  const close = () => {
    for (const master of masters) master.close();
  };
  const listen: Listen = (...asked) => new HolderChannel(masters, ...asked);
  return { masters, redlock, listen, close };
}

export async function acquireLock(call: Call): Promise<number> {
  const { print, tell, interrupted } = call;
  const { close, endNotice, ...opened } = await openRedlock(call, tell);
  const acquisition = await acquireOnce(
    { ...opened, ...partsOf(call, 'redlockctl') },
    wantedBy(call, false),
    interrupted(),
  );
  endNotice();
  close();
  if (acquisition.kind !== 'acquired') return failed(nameOf(call), acquisition, call);
  print(handleText(call, acquisition.lease, {}));
  return exitCode.ok;
}

/** `label`: what the holder record shows without --label. */
export function partsOf(
  call: Call,
  label: string,
): Omit<AcquireOnceParts, 'redlock' | 'servers' | 'report'> {
  const newToken = () => randomBytes(20).toString('base64url');
  return {
    clock: call.clock,
    isHeldAround: heldAroundOf(call.environment, [nameOf(call)]),
    random: Math.random,
    newToken,
    holderRecord: () => holderOf(call, label),
    // Without the note: the masters tell 200 bytes of an id.
    waiterIdOf: (id) => {
      const { note, ...holder } = holderOf(call, label);
      return waiterIdOf({ sharing: sharingOf(call), preemptible: 'never' }, id, whoOf(holder));
    },
  };
}

export function holderOf({ holderRecord, settings }: Call, label: string): HolderRecord {
  const reason = settings.note === null ? {} : { note: settings.note };
  return { ...holderRecord(), ...reason, label: settings.label ?? label };
}

/**
 * What the command line asks for. `isExtended`: the lock is extended, which needs time.
 * @throws UsageError, ConfigError
 */
export function wantedBy(call: Call, isExtended: boolean): Wanted {
  const { args, settings } = call;
  const { ttlMs, waitMs, giveUpAfterMs, isFenced, masterTimeoutMs } = settings;
  const danger = dangerOf(heldTimings(ttlMs, masterTimeoutMs), isExtended);
  if (danger !== null) {
    const [ttl, timeout] = [ttlMs, masterTimeoutMs].map(renderDuration);
    const which = `timings: ttl ${ttl}, masterTimeout ${timeout}`;
    const message = `${which}: ${danger} (raise ttl, or lower masterTimeout)`;
    throw args.has('--ttl') ? new UsageError(message) : new ConfigError(message);
  }
  const sharing = sharingOf({ settings });
  return { name: nameOf(call), ttlMs, waitMs, giveUpAfterMs, isFenced, sharing };
}

/** @throws UsageError where the protocol has no shared locks */
function sharingOf({ settings }: Pick<Call, 'settings'>): Sharing {
  const { isShared, protocol } = settings;
  if (!isShared) return { kind: 'exclusive' };
  if (protocol === 'redlock') return { kind: 'shared' };
  throw new UsageError(`protocol: ${protocol}: a lock is held exclusively (leave out --shared)`);
}

/** The token; with --json the lease and these facts. */
export function handleText(
  { args, clock }: Call,
  { claim, fence, validUntil }: Lease,
  facts: object,
): string {
  const { token } = claim;
  if (!args.has('--json')) return `${token}\n`;
  const validMs = Math.floor(validUntil - clock.now());
  return jsonLine({
    name: claim.resources[0],
    token,
    fence,
    ttlMs: claim.ttlMs,
    validMs,
    ...facts,
  });
}

export function failed(
  name: string,
  acquisition: NotAcquired,
  { settings, tell }: Pick<Call, 'settings' | 'tell'>,
): number {
  switch (acquisition.kind) {
    case 'busy':
      tell(busyLine(quoted(name), blockerOf(acquisition), adviceOn(acquisition, settings)));
      return settings.conflictExitCode;
    case 'nested':
      tell(busyLine(quoted(name), heldAround, 'choose another name'));
      return settings.conflictExitCode;
    case 'superseded': // No step asks for that, but masters may say so.
      tell(supersededLine(quoted(name), acquisition.by));
      return settings.conflictExitCode;
    case 'aborted':
      return settings.conflictExitCode;
    case 'misconfigured':
      tell(`masters: ${failuresLine(acquisition.failures)}`);
      return exitCode.config;
    case 'unreachable': {
      const failures = failuresLine(acquisition.failures);
      tell(noQuorumLine(quoted(name), failures, acquisition.gaveUpAfterMs, 'giveUpAfter'));
      return exitCode.unreachable;
    }
    case 'too-slow':
      tell(tooSlowLine(quoted(name), acquisition.elapsedMs, '--ttl'));
      return exitCode.unreachable;
    case 'enclosing-lost':
      return assert.fail('a step has no enclosing run');
  }
}

function nameOf({ args }: Pick<Call, 'args'>): string {
  return args.operands[0] ?? '';
}

type Busy = Extract<NotAcquired, { kind: 'busy' }>;

function blockerOf({ holder, freeInMs, holderCount }: Busy): string {
  return holderLine(holder, freeInMs, holderCount);
}

function adviceOn({ holder }: Busy, { waitMs }: Pick<CtlSettings, 'waitMs'>): string {
  return busyAdvice(holder, null, waitMs);
}
