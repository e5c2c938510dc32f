// What `acquire` and `hold` have in common: what the command line asks for, what the masters are
// told of this process, and what is printed of how it ends: the token, or why there is none.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { isOwnHold } from '../../cli/own-hold.ts';
import { refuseTimings } from '../../config/rules.ts';
import type { Lease, Sharing } from '../../lock/types.ts';
import { type HolderRecord, parseValue } from '../../lock/value.ts';
import type { IsHeldAround, NotAcquired } from '../../lock/wait.ts';
import { waiterIdOf, whoOf } from '../../lock/waiter-id.ts';
import { exitCode } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { heldAroundOf } from '../../text/held-locks.ts';
import {
  busyAdvice,
  busyLine,
  failuresLine,
  heldAroundLine,
  holderLine,
  longerWait,
  noQuorumLine,
  supersededLine,
  tooSlowLine,
} from '../../text/lines.ts';
import type { Call } from '../call.ts';
import type { CtlSettings } from '../settings.ts';
import type { AcquireOnceParts, Wanted } from './acquire-once.ts';

/** `label`: what the holder record shows without --label. */
export function partsOf(
  call: Call,
  label: string,
): Omit<AcquireOnceParts, 'redlock' | 'servers' | 'report'> {
  const newToken = () => randomBytes(20).toString('base64url');
  return {
    clock: call.clock,
    isHeldAround: heldAround(call),
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
 * What the command line asks for. `isExtended`: the lock is extended, which needs time.
 * @throws UsageError, ConfigError
 */
export function wantedBy(call: Call, isExtended: boolean): Wanted {
  const { settings } = call;
  const { ttlMs, waitMs, giveUpAfterMs, isFenced } = settings;
  refuseTimings(settings, isExtended, settings.timingPlaces);
  const sharing = sharingOf({ settings });
  return { name: nameOf(call), ttlMs, waitMs, giveUpAfterMs, isFenced, sharing };
}

function sharingOf({ settings }: Pick<Call, 'settings'>): Sharing {
  return { kind: settings.isShared ? 'shared' : 'exclusive' };
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
      tell(
        heldAroundLine(
          quoted(name),
          parseValue(acquisition.holder).record?.forPid,
          'choose another name',
        ),
      );
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

/** The lock that the command line names. */
export function nameOf({ args }: Pick<Call, 'args'>): string {
  return args.operands[0] ?? '';
}

type Busy = Extract<NotAcquired, { kind: 'busy' }>;

function blockerOf({ holder, freeInMs, holderCount }: Busy): string {
  return holderLine(holder, freeInMs, holderCount);
}

function adviceOn({ holder }: Busy, { waitMs }: Pick<CtlSettings, 'waitMs'>): string {
  return busyAdvice(holder, null, longerWait(waitMs));
}
