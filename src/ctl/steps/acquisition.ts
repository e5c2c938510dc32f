// What `acquire` and `hold` have in common: what the command line asks for, what the masters are
// told of this process, and what is printed of how it ends: the token, or why there is none.

import { randomBytes } from 'node:crypto';
import { isOwnHold } from '../../cli/own-hold.ts';
import { WaitNotice } from '../../cli/wait-notice.ts';
import { refuseTimings } from '../../config/rules.ts';
import type { LockRequest } from '../../lock/acquire.ts';
import { alone, type Lease } from '../../lock/types.ts';
import { type HolderRecord, newClaim } from '../../lock/value.ts';
import type { IsHeldAround, NotAcquired } from '../../lock/wait.ts';
import { waiterIdOf, whoOf } from '../../lock/waiter-id.ts';
import { busyAdvice, longerWait, outcomeOfEnd, refusalLine } from '../../text/ends.ts';
import { jsonLine } from '../../text/foreign-text.ts';
import { heldAroundOf } from '../../text/held-locks.ts';
import { outcomeTable } from '../../text/outcomes.ts';
import type { Call } from '../call.ts';

/**
 * What the command line asks for, on masters that `openRedlock` has opened. `label`: what the
 * holder record shows without --label. `forPid`: the process for which the lock is held, if any.
 */
export function requestOf(
  call: Call,
  opened: Pick<LockRequest, 'redlock' | 'servers' | 'report'>,
  label: string,
  aborted: AbortSignal,
  forPid: number | null = null,
): LockRequest {
  const { ttlMs, waitMs, giveUpAfterMs, isFenced, isShared } = call.settings;
  const sharing = { kind: isShared ? 'shared' : 'exclusive' } as const;
  const wish = { ...alone, resources: [nameOf(call)], ttlMs, isFenced, sharing };
  // Without the note: the masters report 200 bytes of an id.
  const { note, ...waiter } = holderOf(call, label);
  const traits = { sharing, preemptible: wish.preemptible };
  return {
    ...opened,
    clock: call.clock,
    random: Math.random,
    newClaim: () => {
      const record = { ...holderOf(call, label), ...(forPid === null ? {} : { forPid }) };
      return newClaim(wish, newToken(), record);
    },
    waiterId: waiterIdOf(traits, newToken(), whoOf(waiter)),
    waitMs,
    giveUpAfterMs,
    areServersKnown: false,
    reserveMs: 0,
    aborted,
    isHeldAround: heldAround(call),
  };
}

/** Never used before, and not to be guessed. */
function newToken(): string {
  return randomBytes(20).toString('base64url');
}

/** Whether this process is part of the holder of the lock that the command line names. */
export function heldAround(
  call: Pick<Call, 'args' | 'environment' | 'holderRecord'>,
): IsHeldAround {
  const { host } = call.holderRecord();
  return heldAroundOf(call.environment, [nameOf(call)], (holder) => isOwnHold(holder, host));
}

export function holderOf({ holderRecord, settings }: Call, label: string): HolderRecord {
  const reason = settings.note === null ? {} : { note: settings.note };
  return { ...holderRecord(), ...reason, label: settings.label ?? label };
}

/**
 * `isExtended`: the lock is extended, which needs time.
 * @throws UsageError, ConfigError
 */
export function checkTimings({ settings }: Pick<Call, 'settings'>, isExtended: boolean): void {
  refuseTimings(settings, isExtended, settings.timingPlaces);
}

/** Reports a wait as redlock-run does. */
export function noticeOf(
  call: Pick<Call, 'args' | 'settings' | 'stderr' | 'environment'>,
): WaitNotice {
  const { stderr, environment } = call;
  const names = [nameOf(call)];
  const { waitMs } = call.settings;
  // Not by `tell`, which would show a colour as text.
  const print = (line: string, paint: (line: string) => string) =>
    stderr.write(`redlockctl: ${paint(line)}\n`);
  return new WaitNotice(names, waitMs, print, stderr, environment);
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

/** Reports why the lock was not acquired, and returns the exit code. */
export function failed(
  name: string,
  refusal: NotAcquired,
  { settings, tell }: Pick<Call, 'settings' | 'tell'>,
): number {
  const line = refusalLine([name], refusal, {
    ttl: '--ttl',
    giveUpAfter: 'giveUpAfter',
    onBusy: (holder) => busyAdvice(holder, null, longerWait(settings.waitMs)),
    onNested: 'choose another name',
  });
  if (line !== null) tell(line);
  const { status } = outcomeTable[outcomeOfEnd(refusal)];
  return typeof status === 'number' ? status : settings.conflictExitCode;
}

/** The lock that the command line names. */
export function nameOf({ args }: Pick<Call, 'args'>): string {
  return args.operands[0] ?? '';
}
