// The events of a run as lines, `what: which: why (what to do)`, and which of them are
// warnings. Pure. The reporter decides which lines are printed, and when.

import type { Settings } from '../config/settings.ts';
import { differenceLine } from '../redis/masters-watch.ts';
import type { RunEvent, RunRecord } from '../run/record.ts';
import { briefEnd, busyAdvice, closingLine, longerWait, unknownStart } from '../text/ends.ts';
import { failureLine, failuresLine, roughly, unkillableLine, whichOf } from '../text/lines.ts';
import { lossLine } from '../text/outcomes.ts';
import { plural } from '../text/plural.ts';

const program = 'redlock-run';

/** An attempt has ended, and the wait goes on: the reporter shows a notice of it. */
export type WaitEvent = Extract<RunEvent, { kind: 'waiting' | 'no-quorum' }>;

type LineEvent = Exclude<RunEvent, WaitEvent>;

/** Events that are warnings; those marked `verbose` are printed only with -v. */
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

/** Whether the event is a warning, and whether it is printed without -v; null: it is none. */
export function warningOf(event: RunEvent): 'always' | 'verbose' | null {
  // With --keep-background, leftover processes are what the user wants.
  if (event.kind === 'leftovers' && event.isKept) return null;
  if (event.kind === 'master-open' && event.isMinority) return 'verbose';
  return warningKinds.get(event.kind) ?? null;
}

/** The line of an event, as -v prints it. */
export function eventLine(names: readonly string[], event: LineEvent): string {
  const render = lines[event.kind] as (event: LineEvent, which: string) => string;
  return `${warningOf(event) === null ? '' : 'warning: '}${render(event, whichOf(names))}`;
}

type Lines = {
  readonly [Kind in LineEvent['kind']]: (
    event: Extract<LineEvent, { kind: Kind }>,
    which: string,
  ) => string;
};

const lines: Lines = {
  'masters-differ': differenceLine,
  'master-failing': ({ master, failed }) =>
    `${master}: ${failureLine(failed)}; the lock needs only a quorum of the masters`,
  'master-recovered': ({ master }) => `recovered: ${master}: answers again`,
  'master-repaired': ({ master }) => `repaired: ${master}: had lost our value and shows it again`,
  'master-jumped': ({ master, aheadMs }) => {
    const jump = `${roughly(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'back'}`;
    const why = `its clock went ${jump}, and its keys expire by it`;
    return `${master}: ${why} (let NTP slew the clock, never step it)`;
  },
  'master-open': ({ master }) => {
    const what = 'asked for no password, and one is configured: any client may log in';
    return `${master}: ${what} (set requirepass, or leave the password out)`;
  },
  'master-unidentified': ({ master }) => {
    const what = 'refuses INFO or ROLE: a replica or a restart could not be seen';
    return `${master}: ${what} (grant both, or ask the provider)`;
  },
  'clock-jumped': ({ ms }) => {
    const what = `${roughly(ms)} passed unnoticed (asleep, or its time was set)`;
    return `clock: this machine: ${what}; counted against the lock`;
  },
  'fence-raised': ({ fence }, which) =>
    `fence: ${which}: masters counted differently, raising all to ${fence}`,
  acquired: ({ grantedCount, elapsedMs, waitMs }, which) => {
    const where = `${grantedBy(grantedCount)} in ${roughly(elapsedMs)}`;
    return `acquired: ${which}: ${where}, after waiting ${roughly(waitMs)}`;
  },
  extended: ({ extendedCount, elapsedMs }, which) =>
    `extended: ${which}: ${grantedBy(extendedCount)} in ${roughly(elapsedMs)}`,
  'extension-failed': ({ validMs, failures }, which) =>
    `${which}: not extended, valid for another ${roughly(validMs)}: ${failuresLine(failures)}`,
  released: ({ releasedCount, keepMs }, which) => {
    const kept = keepMs > 0 ? `, kept for another ${roughly(keepMs)}` : '';
    return `released: ${which}: on ${plural(releasedCount, 'master')}${kept}`;
  },
  'release-unconfirmed': ({ failures, remainingMs }, which) => {
    const what = `not released on a quorum: ${failuresLine(failures)}`;
    return `${which}: ${what} (it expires by itself within ${roughly(remainingMs)})`;
  },
  'lost-at-release': (_, which) => `lost: ${which}: another client held it when it was released`,
  'missing-at-release': (_, which) => {
    const what = 'too few masters still showed our value when it was released';
    const why = 'another client may have held the lock while the command ran';
    return `${which}: ${what}; ${why} (look at redlockctl history)`;
  },
  'child-started': ({ pid }, which) => `started: ${which}: pid ${pid}`,
  'child-exited': ({ exit, runMs }, which) => {
    const after = runMs === null ? '' : ` after ${roughly(runMs)}`;
    return `ended: ${which}: ${briefEnd(exit)}${after}`;
  },
  'never-started': ({ reason }, which) =>
    `lost: ${which}: ${lossLine(reason, program)}: the command is not started`,
  'unknown-start': (_, which) =>
    `lost: ${which}: ${lossLine('guard-lost', program)}: the command ${unknownStart}`,
  relayed: ({ signal }, which) => `relayed: ${which}: ${signal}`,
  stopping: ({ cause, signal, validMs }, which) => {
    const valid = `lock valid for another ${roughly(validMs)}`;
    return `stopping: ${which}: ${briefEnd(cause)}: sent ${signal}, ${valid}`;
  },
  killed: (_, which) => `killed: ${which}: sent SIGKILL`,
  leftovers: ({ count, isKept }, which) => {
    const what = `the command left ${plural(count, 'process', 'processes')} behind`;
    return isKept
      ? `left: ${which}: ${what}, going on without the lock`
      : `${which}: ${what}; ending them (--keep-background leaves them)`;
  },
  unkillable: ({ unkillable, remainingMs }, which) => {
    const why = "another user's, not to be interrupted, or without a guard";
    const what = `cannot kill ${unkillableLine(unkillable)} (${why})`;
    const rest = `the lock is not released and expires within ${roughly(remainingMs)}`;
    return `${which}: ${what}; ${rest}`;
  },
  'guard-lost': (_, which) => `${which}: the guard process died; ending all that it guarded`,
};

/** Under the lock of an enclosing run (--reentrant) no master is asked. */
function grantedBy(masterCount: number): string {
  return masterCount === 0 ? 'by the enclosing run' : `on ${plural(masterCount, 'master')}`;
}

/** What the user asked for, as far as the line about the end says how to do better. */
export type Requested = Pick<Settings, 'names' | 'command' | 'waitMs' | 'retries' | 'slotCount'>;

/** The line about an end that the exit code alone leaves unclear; null: the exit code is enough. */
export function closingLineOf(requested: Requested, record: RunRecord): string | null {
  const { names, command, waitMs, retries, slotCount } = requested;
  const { cause, childExit } = record;
  const longer = retries ? 'raise --retry-count' : longerWait(waitMs);
  const wording = {
    ttl: '--ttl',
    giveUpAfter: 'giveUpAfter',
    onBusy: (holder: string) => busyAdvice(holder, slotCount, longer),
    onNested: 'choose another name, or --reentrant to run under its lock',
  };
  const end = cause.kind === 'child' ? childExit : cause;
  return end && closingLine(end, { ...record, names, wording, file: command[0] ?? '' });
}
