// The events and the end of a run as lines for people: `what: which: why (what to do)`, always one
// line. Pure; which lines are printed, and when, the reporter decides.

import type { NotAcquired } from '../lock/wait.ts';
import type { RunEvent } from '../run/events.ts';
import type { Finished } from '../run/run.ts';
import type { Cause, ChildExit, Ending } from '../run/supervisor.ts';
import {
  failuresLine,
  holderLine,
  roughly,
  supersededLine,
  waiterLine,
  whichOf,
} from '../text/lines.ts';
import { quoted } from '../text/quote.ts';

/** Everything that -v tells. */
export function eventLine(names: readonly string[], event: RunEvent): string {
  const which = whichOf(names);
  switch (event.kind) {
    case 'master-failing':
      return `warning: ${event.master}: ${event.failed.message} (the lock needs only a quorum of the masters)`;
    case 'master-recovered':
      return `recovered: ${event.master}: answers again`;
    case 'master-repaired':
      return `healed: ${event.master}: had lost our value and shows it again`;
    case 'master-jumped':
      return `warning: ${event.master}: its clock went ${roughly(Math.abs(event.aheadMs))} ${event.aheadMs > 0 ? 'ahead' : 'back'}, and its keys expire by it (let NTP slew the clock, never step it)`;
    case 'fence-write-back':
      return `fence: ${which}: masters counted differently, writing ${event.fence} back`;
    case 'waiting':
      return `waiting: ${which}: ${placeLine(event.place)}${holderLine(event.holder, event.remainingMs, event.holderCount)}`;
    case 'no-quorum':
      return `waiting: ${which}: no quorum answers: ${failuresLine(event.failures)}`;
    case 'acquired':
      return `acquired: ${which}: on ${event.grantedCount} masters in ${roughly(event.elapsedMs)}, after waiting ${roughly(event.waitMs)}`;
    case 'extended':
      return `extended: ${which}: on ${event.extendedCount} masters in ${roughly(event.elapsedMs)}`;
    case 'extension-failed':
      return `warning: ${which}: not extended, valid for another ${roughly(event.validMs)}: ${failuresLine(event.failures)}`;
    case 'released': {
      const kept = event.keepMs > 0 ? `, kept for another ${roughly(event.keepMs)}` : '';
      return `released: ${which}: on ${event.releasedCount} masters${kept}`;
    }
    case 'release-unconfirmed':
      return `warning: ${which}: not released on a quorum: ${failuresLine(event.failures)} (it expires by itself within ${roughly(event.remainingMs)})`;
    case 'child-started':
      return `started: ${which}: pid ${event.pid ?? 'none'}`;
    case 'child-exited':
      return `ended: ${which}: ${exitLine(event.exit)} after ${roughly(event.runMs)}`;
    case 'relayed':
      return `relayed: ${which}: ${event.signal}`;
    case 'stopping':
      return `stopping: ${which}: ${causeLine(event.cause)}: sent ${event.signal}, lock valid for another ${roughly(event.validMs)}`;
    case 'lost-at-release':
      return `lost: ${which}: somebody else had it when it was released`;
    case 'missing-at-release':
      return `warning: ${which}: too few masters still showed our value when it was released; somebody may have had the lock while the command ran (look at redlockctl history)`;
    case 'leftovers':
      return event.isKept
        ? `left: ${which}: the command left ${processes(event.count)} behind, going on without the lock`
        : `warning: ${which}: the command left ${processes(event.count)} behind; ending them (--keep-background leaves them)`;
    case 'unkillable':
      return `warning: ${which}: cannot kill ${event.pids.join(', ')} (another user's, or not to be interrupted); the lock is not released and expires within ${roughly(event.remainingMs)}`;
    case 'guard-restarted':
      return `warning: ${which}: the guard process died; started another one`;
    case 'killed':
      return `killed: ${which}: sent SIGKILL`;
    case 'clock-jumped':
      return `clock: this machine: ${roughly(event.ms)} passed unnoticed (asleep, or its time was set); counted against the lock`;
  }
}

/** The one line about an ending that the exit code alone would leave unclear; null where the command speaks for itself. */
export function endingLine(
  names: readonly string[],
  command: readonly string[],
  finished: Finished,
): string | null {
  const { ending, unconfirmedMs } = finished;
  const which = whichOf(names);
  const { cause, childExit } = ending;
  switch (cause.kind) {
    case 'not-acquired':
      return notAcquiredLine(which, cause.acquisition);
    case 'lost':
      return `lost: ${which}: ${lossLine(cause)}${unconfirmedMs === null ? '' : `, unconfirmed for ${roughly(unconfirmedMs)}`}; the command ${stopLine(ending)}`;
    case 'replaced':
      return `replaced: ${which}: given up for ${waiterLine(cause.by)}; the command ${stopLine(ending)}`;
    case 'max-run':
      return `max-run: ${which}: the command ran too long and ${stopWord(ending)} (raise --max-run)`;
    case 'signal':
      return null;
    case 'child':
      return childExit?.kind === 'not-found' || childExit?.kind === 'not-executable'
        ? commandLine(childExit, command[0] ?? '')
        : null;
  }
}

/** Why a command could not be started. */
export function commandLine(exit: ChildExit, file: string): string {
  const which = `command: ${quoted(file)}`;
  return exit.kind === 'not-found'
    ? `${which}: not found (check the name and PATH)`
    : `${which}: cannot be executed: ${exitLine(exit)} (check its permissions)`;
}

function notAcquiredLine(which: string, acquisition: NotAcquired): string | null {
  switch (acquisition.kind) {
    case 'nested':
      return `busy: ${which}: held by a run around this one, which would wait for itself (take another name, or --reentrant to run under its lock)`;
    case 'superseded':
      return supersededLine(which, acquisition.by);
    case 'enclosing-lost':
      return `lost: ${which}: the masters do not show it as held by the run around this one; the command was not started`;
    case 'busy':
      return `busy: ${which}: ${holderLine(acquisition.holder, acquisition.freeInMs, acquisition.holderCount)} (wait longer with -w)`;
    case 'unreachable':
      return `no quorum: ${which}: ${failuresLine(acquisition.failures)} (check that a majority of the masters is up)`;
    case 'too-slow':
      return `no quorum: ${which}: the masters took ${roughly(acquisition.elapsedMs)}, too long for this ttl (raise --ttl)`;
    case 'misconfigured':
      return `masters: ${failuresLine(acquisition.failures)}`;
    case 'aborted':
      return null;
  }
}

function causeLine(cause: Cause): string {
  switch (cause.kind) {
    case 'lost':
      return `lost (${lossLine(cause)})`;
    case 'signal':
      return `told to by ${cause.signal}`;
    case 'replaced':
      return `given up for ${waiterLine(cause.by)}`;
    default:
      return cause.kind;
  }
}

function lossLine({ reason }: Extract<Cause, { kind: 'lost' }>): string {
  switch (reason) {
    case 'taken':
      return 'taken: masters show the value of somebody else';
    case 'expired':
      return 'expired: too few masters still show our value';
    case 'unreachable':
      return 'unreachable: no quorum extended it in time';
    case 'suspended':
      return 'suspended: redlock-run did not run when the lock had to be extended (stopped, asleep, starved)';
    case 'guard-lost':
      return 'guard-lost: the guard process died, and the command could not be kept without it';
    case 'masters-replaced':
      return 'masters-replaced: the local masters were removed, and later runs start others';
  }
}

/** SIGKILL may have been sent, and have met only what the command had started. */
function stopWord({ childExit, isKilled }: Ending): string {
  const hasDiedOfIt =
    childExit === null || (childExit.kind === 'signaled' && childExit.signal === 'SIGKILL');
  return isKilled && hasDiedOfIt ? 'was killed' : 'was stopped';
}

/** "was stopped: exit code 3" */
function stopLine(ending: Ending): string {
  const { cause } = ending;
  const word = cause.kind === 'lost' && cause.isLate ? 'had ended by then' : stopWord(ending);
  return `${word}${ending.childExit ? `: ${exitLine(ending.childExit)}` : ''}`;
}

function exitLine(exit: ChildExit): string {
  switch (exit.kind) {
    case 'exited':
      return `exit code ${exit.code}`;
    case 'signaled':
      return `died of ${exit.signal}`;
    case 'not-found':
      return 'not found';
    case 'not-executable':
      return exit.message;
  }
}

function processes(count: number): string {
  return count === 1 ? '1 process' : `${count} processes`;
}

/** Our place in the queue, for people, who count from one. */
function placeLine(place: number | null): string {
  return place === null ? '' : place === 0 ? 'first in line; ' : `place ${place + 1} in line; `;
}
