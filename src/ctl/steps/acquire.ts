// `redlockctl acquire NAME`: acquires a lock for a script and prints its token. The lock outlives
// this program and is neither extended nor guarded, so the ttl has to last for the work, or until
// the next `extend`. `hold` acquires in the same way.

import { randomBytes } from 'node:crypto';
import { isOwnHold } from '../../cli/own-hold.ts';
import { WaitNotice, waitStateOf } from '../../cli/wait-notice.ts';
import { refuseTimings } from '../../config/rules.ts';
import { acquireLock, type LockRequest } from '../../lock/acquire.ts';
import type { LockEvent } from '../../lock/ports.ts';
import { Redlock } from '../../lock/redlock.ts';
import { alone, type Lease } from '../../lock/types.ts';
import { type HolderRecord, newClaim } from '../../lock/value.ts';
import type { IsHeldAround, NotAcquired } from '../../lock/wait.ts';
import { waiterIdOf, whoOf } from '../../lock/waiter-id.ts';
import { differenceLine, MastersWatch } from '../../redis/masters-watch.ts';
import { busyAdvice, longerWait, outcomeOfEnd, refusalLine } from '../../text/ends.ts';
import { exitCode } from '../../text/errors.ts';
import { jsonLine } from '../../text/foreign-text.ts';
import { heldAroundOf } from '../../text/held-locks.ts';
import { outcomeTable } from '../../text/outcomes.ts';
import type { Call } from '../call.ts';
import { openServers } from '../master-query.ts';

export async function acquire(call: Call): Promise<number> {
  const { settings, print, interrupted } = call;
  refuseTimings(settings, false, settings.timingPlaces);
  const { request, close } = await openRequest(call, 'redlockctl', interrupted(), call.tell, null);
  const acquisition = await acquireLock(request);
  await close();
  if (acquisition.kind !== 'acquired') return refuse(call, acquisition);
  print(handleText(call, acquisition.lease, {}));
  return exitCode.ok;
}

/**
 * What the command line asks for, on connections of its own, which `close` ends; the wait is
 * reported, and sets of masters are compared. `label`: what the holder record shows without
 * --label; `forPid`: the process for which the lock is held, if any.
 */
export async function openRequest(
  call: Call,
  label: string,
  aborted: AbortSignal,
  tell: Call['tell'],
  forPid: number | null,
) {
  const { settings, clock } = call;
  const { ttlMs, waitMs, giveUpAfterMs, isFenced, isShared } = settings;
  const { differingMasters, hasHistory } = settings;
  const { host } = call.holderRecord();
  const masters = await openServers(settings, clock, 'lock');
  const watch = new MastersWatch(masters, clock, host, differingMasters, hasHistory);
  const notice = noticeOf(call);
  const report = (event: LockEvent) => {
    if (event.kind === 'masters-differ') {
      notice.interrupt();
      return tell(`warning: ${differenceLine(event)}`);
    }
    const isWait = event.kind === 'waiting' || event.kind === 'no-quorum';
    if (isWait && waitMs !== 0) notice.update(waitStateOf(event, null), event.waitedMs);
    if (event.kind === 'acquired') notice.end();
    watch.see(event, report);
  };
  const sharing = { kind: isShared ? 'shared' : 'exclusive' } as const;
  const wish = { ...alone, resources: [call.args.name], ttlMs, isFenced, sharing };
  // Without the note: the masters report 200 bytes of an id.
  const { note, ...waiter } = holderOf(call, label);
  const request: LockRequest = {
    redlock: new Redlock(masters, clock, settings, () => {}),
    servers: watch.servers,
    clock,
    random: Math.random,
    report,
    newClaim: () => {
      const record = { ...holderOf(call, label), ...(forPid === null ? {} : { forPid }) };
      return newClaim(wish, newToken(), record);
    },
    waiterId: waiterIdOf(wish, newToken(), whoOf(waiter)),
    areServersKnown: false,
    waitMs,
    giveUpAfterMs,
    reserveMs: 0,
    aborted,
    isHeldAround: heldAround(call),
  };
  const close = async () => {
    notice.end();
    await Promise.all(masters.map((master) => master.close()));
  };
  return { request, masters, close };
}

/** Never used before, and not to be guessed. */
function newToken(): string {
  return randomBytes(20).toString('base64url');
}

/** Whether this process is part of the holder of the lock that the command line names. */
export function heldAround({ args, environment, holderRecord }: Call): IsHeldAround {
  const { host } = holderRecord();
  return heldAroundOf(environment, [args.name], (holder) => isOwnHold(holder, host));
}

export function holderOf({ holderRecord, settings }: Call, label: string): HolderRecord {
  const reason = settings.note === null ? {} : { note: settings.note };
  return { ...holderRecord(), ...reason, label: settings.label ?? label };
}

/** Reports a wait as redlock-run does. */
export function noticeOf({ args, settings, stderr, environment }: Call): WaitNotice {
  // Not by `tell`, which would show a colour as text.
  const print = (line: string, paint: (line: string) => string) =>
    stderr.write(`redlockctl: ${paint(line)}\n`);
  return new WaitNotice([args.name], settings.waitMs, print, stderr, environment);
}

/** The token; with --json the lease and these facts. */
export function handleText({ args, clock }: Call, lease: Lease, facts: object): string {
  const { claim, fence, validUntil } = lease;
  const { token, ttlMs } = claim;
  if (!args.has('--json')) return `${token}\n`;
  const validMs = Math.floor(validUntil - clock.now());
  return jsonLine({ name: args.name, token, fence, ttlMs, validMs, ...facts });
}

/** Reports why the lock was not acquired, and returns the exit code. */
export function refuse(
  { args, settings, tell }: Pick<Call, 'args' | 'settings' | 'tell'>,
  refusal: NotAcquired,
): number {
  const line = refusalLine([args.name], refusal, {
    ttl: '--ttl',
    giveUpAfter: 'giveUpAfter',
    onBusy: (holder) => busyAdvice(holder, null, longerWait(settings.waitMs)),
    onNested: 'choose another name',
  });
  if (line !== null) tell(line);
  const { status } = outcomeTable[outcomeOfEnd(refusal)];
  return typeof status === 'number' ? status : settings.conflictExitCode;
}
