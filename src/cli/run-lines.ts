// The events of a run as lines for people, `what: which: why (what to do)`, and which of them are
// warnings. Pure. The reporter decides which lines are printed, and when.

import { differenceLine } from '../redis/master-lists.ts';
import type { RunEvent } from '../run/ports.ts';
import type { StopReason } from '../run/run-result.ts';
import {
  failureLine,
  failuresLine,
  personLine,
  roughly,
  unkillableLine,
  waiterLine,
  whichOf,
} from '../text/lines.ts';
import { plural } from '../text/plural.ts';
import { exitLine, lossLine, reasonLine, unknownStart } from './ending-line.ts';

/** An attempt has ended, and the wait goes on: the reporter tells of it by a notice. */
export type WaitEvent = Extract<RunEvent, { kind: 'waiting' | 'no-quorum' }>;

type ToldEvent = Exclude<RunEvent, WaitEvent>;

/** Events that are warnings; of these `verbose` are told with -v only. */
const warningKinds: ReadonlyMap<RunEvent['kind'], 'always' | 'verbose'> = new Map([
  ['release-unconfirmed', 'always'],
  ['leftovers', 'always'],
  ['unkillable', 'always'],
  ['guard-lost', 'always'],
  ['missing-at-release', 'always'],
  ['masters-differ', 'always'],
  ['master-open', 'always'],
  ['master-failing', 'verbose'],
  ['master-jumped', 'verbose'],
  ['master-unidentified', 'verbose'],
  ['extension-failed', 'verbose'],
]);

/** Whether the event is a warning, and whether it is told without -v; null: it is none. */
export function warningOf(event: RunEvent): 'always' | 'verbose' | null {
  // With --keep-background, leftover processes are what the user asked for.
  if (event.kind === 'leftovers' && event.isKept) return null;
  if (event.kind === 'master-open' && event.isMinority) return 'verbose';
  return warningKinds.get(event.kind) ?? null;
}

/** The line of an event, as -v prints it. */
export function eventLine(names: readonly string[], event: ToldEvent): string {
  return `${warningOf(event) === null ? '' : 'warning: '}${textOf(names, event)}`;
}

type MasterEvent = Extract<ToldEvent, { kind: `master-${string}` }>;

function isOfMaster(event: ToldEvent): event is MasterEvent {
  return event.kind.startsWith('master-');
}

function masterText(event: MasterEvent): string {
  switch (event.kind) {
    case 'master-failing':
      return `${event.master}: ${failureLine(event.failed)}; ${needed}`;
    case 'master-recovered':
      return `recovered: ${event.master}: answers again`;
    case 'master-repaired':
      return `repaired: ${event.master}: had lost our value and shows it again`;
    case 'master-jumped': {
      const jump = `${roughly(Math.abs(event.aheadMs))} ${event.aheadMs > 0 ? 'ahead' : 'back'}`;
      const why = `its clock went ${jump}, and its keys expire by it`;
      return `${event.master}: ${why} (let NTP slew the clock, never step it)`;
    }
    case 'master-open': {
      const what = 'asked for no password, and one is configured: any client may log in';
      return `${event.master}: ${what} (set requirepass, or leave the password out)`;
    }
    case 'master-unidentified':
      return `${event.master}: ${unidentified} (grant both, or ask the provider)`;
  }
}

function textOf(names: readonly string[], event: ToldEvent): string {
  if (isOfMaster(event)) return masterText(event);
  const which = whichOf(names);
  switch (event.kind) {
    case 'masters-differ':
      return differenceLine(event);
    case 'fence-raised':
      return `fence: ${which}: masters counted differently, raising all to ${event.fence}`;
    case 'acquired': {
      const where = `on ${plural(event.grantedCount, 'master')} in ${roughly(event.elapsedMs)}`;
      return `acquired: ${which}: ${where}, after waiting ${roughly(event.waitMs)}`;
    }
    case 'extended': {
      const where = `on ${plural(event.extendedCount, 'master')} in ${roughly(event.elapsedMs)}`;
      return `extended: ${which}: ${where}`;
    }
    case 'extension-failed': {
      const what = `not extended, valid for another ${roughly(event.validMs)}`;
      return `${which}: ${what}: ${failuresLine(event.failures)}`;
    }
    case 'released':
    case 'release-unconfirmed':
    case 'lost-at-release':
    case 'missing-at-release':
      return releaseText(which, event);
    case 'clock-jumped': {
      const what = `${roughly(event.ms)} passed unnoticed (asleep, or its time was set)`;
      return `clock: this machine: ${what}; counted against the lock`;
    }
    default:
      return commandText(which, event);
  }
}

type CommandEvent = Extract<
  ToldEvent,
  {
    kind:
      | `child-${string}`
      | `guard-${string}`
      | 'relayed'
      | 'stopping'
      | 'leftovers'
      | 'unkillable'
      | 'never-started'
      | 'unknown-start'
      | 'killed';
  }
>;

/** Of the command, its processes and its guard. */
function commandText(which: string, event: CommandEvent): string {
  switch (event.kind) {
    case 'child-started':
      return `started: ${which}: pid ${event.pid}`;
    case 'child-exited':
      return `ended: ${which}: ${exitLine(event.exit)} after ${roughly(event.runMs)}`;
    case 'relayed':
      return `relayed: ${which}: ${event.signal}`;
    case 'stopping': {
      const valid = `lock valid for another ${roughly(event.validMs)}`;
      return `stopping: ${which}: ${causeLine(event.cause)}: sent ${event.signal}, ${valid}`;
    }
    case 'leftovers': {
      const what = `the command left ${plural(event.count, 'process', 'processes')} behind`;
      return event.isKept
        ? `left: ${which}: ${what}, going on without the lock`
        : `${which}: ${what}; ending them (--keep-background leaves them)`;
    }
    case 'unkillable': {
      const why = "another user's, not to be interrupted, or without a guard";
      const what = `cannot kill ${unkillableLine(event.unkillable)} (${why})`;
      const rest = `the lock is not released and expires within ${roughly(event.remainingMs)}`;
      return `${which}: ${what}; ${rest}`;
    }
    case 'guard-lost':
      return `${which}: the guard process died; ending all that it guarded`;
    case 'never-started':
      return `lost: ${which}: ${reasonLine(event.reason)}: the command is not started`;
    case 'unknown-start':
      return `lost: ${which}: ${reasonLine('guard-lost')}: the command ${unknownStart}`;
    case 'killed':
      return `killed: ${which}: sent SIGKILL`;
  }
}

type ReleaseEvent = Extract<
  ToldEvent,
  { kind: 'released' | 'release-unconfirmed' | 'lost-at-release' | 'missing-at-release' }
>;

function releaseText(which: string, event: ReleaseEvent): string {
  switch (event.kind) {
    case 'released': {
      const kept = event.keepMs > 0 ? `, kept for another ${roughly(event.keepMs)}` : '';
      return `released: ${which}: on ${plural(event.releasedCount, 'master')}${kept}`;
    }
    case 'release-unconfirmed': {
      const what = `not released on a quorum: ${failuresLine(event.failures)}`;
      const rest = `it expires by itself within ${roughly(event.remainingMs)}`;
      return `${which}: ${what} (${rest})`;
    }
    case 'lost-at-release':
      return `lost: ${which}: another client held it when it was released`;
    case 'missing-at-release': {
      const what = 'too few masters still showed our value when it was released';
      const why = 'another client may have held the lock while the command ran';
      return `${which}: ${what}; ${why} (look at redlockctl history)`;
    }
  }
}

const needed = 'the lock needs only a quorum of the masters';
const unidentified = 'refuses INFO or ROLE: a replica or a restart could not be seen';

function causeLine(cause: StopReason): string {
  switch (cause.kind) {
    case 'lost':
      return `lost (${lossLine(cause)})`;
    case 'signal':
      return `told to stop by ${cause.signal}`;
    case 'replaced':
      return `stopped for ${waiterLine(cause.by)}`;
    case 'stopped':
      return `asked to stop by ${personLine(cause.by)}`;
    default:
      return cause.kind;
  }
}
