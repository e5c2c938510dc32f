// The events and the end of a run as lines for people: `what: which: why (what to do)`. Pure. The
// reporter decides which of them are printed, and when.

import { parseFreeze } from '../lock/people.ts';
import type { NotAcquired } from '../lock/wait.ts';
import { differenceLine } from '../redis/master-lists.ts';
import type { Finished, RunEvent } from '../run/ports.ts';
import type { ChildExit, RunLossReason, RunResult, StopReason } from '../run/supervisor.ts';
import { quoted } from '../text/foreign-text.ts';
import {
  failureLine,
  failuresLine,
  holderLine,
  personLine,
  roughly,
  supersededLine,
  waiterLine,
  whichOf,
} from '../text/lines.ts';

/** An attempt has ended, and the wait goes on: the reporter tells of it by a notice. */
export type WaitEvent = Extract<RunEvent, { kind: 'waiting' | 'no-quorum' }>;

/** The line of an event, as -v prints it. */
export function eventLine(names: readonly string[], event: Exclude<RunEvent, WaitEvent>): string {
  const which = whichOf(names);
  switch (event.kind) {
    case 'master-failing':
      return `warning: ${event.master}: ${failureLine(event.failed)}; ${needed}`;
    case 'master-recovered':
      return `recovered: ${event.master}: answers again`;
    case 'master-repaired':
      return `repaired: ${event.master}: had lost our value and shows it again`;
    case 'master-jumped': {
      const jump = `${roughly(Math.abs(event.aheadMs))} ${event.aheadMs > 0 ? 'ahead' : 'back'}`;
      const why = `its clock went ${jump}, and its keys expire by it`;
      return `warning: ${event.master}: ${why} (let NTP slew the clock, never step it)`;
    }
    case 'master-unidentified':
      return `warning: ${event.master}: ${unidentified} (grant both, or ask the provider)`;
    case 'masters-differ':
      return differenceLine(event);
    case 'fence-write-back':
      return `fence: ${which}: masters counted differently, writing ${event.fence} back`;
    case 'acquired': {
      const where = `on ${masters(event.grantedCount)} in ${roughly(event.elapsedMs)}`;
      return `acquired: ${which}: ${where}, after waiting ${roughly(event.waitMs)}`;
    }
    case 'extended': {
      const where = `on ${masters(event.extendedCount)} in ${roughly(event.elapsedMs)}`;
      return `extended: ${which}: ${where}`;
    }
    case 'extension-failed': {
      const what = `not extended, valid for another ${roughly(event.validMs)}`;
      return `warning: ${which}: ${what}: ${failuresLine(event.failures)}`;
    }
    case 'released': {
      const kept = event.keepMs > 0 ? `, kept for another ${roughly(event.keepMs)}` : '';
      return `released: ${which}: on ${masters(event.releasedCount)}${kept}`;
    }
    case 'release-unconfirmed': {
      const what = `not released on a quorum: ${failuresLine(event.failures)}`;
      const rest = `it expires by itself within ${roughly(event.remainingMs)}`;
      return `warning: ${which}: ${what} (${rest})`;
    }
    case 'child-started':
      return `started: ${which}: pid ${event.pid ?? 'none'}`;
    case 'child-exited':
      return `ended: ${which}: ${exitLine(event.exit)} after ${roughly(event.runMs)}`;
    case 'relayed':
      return `relayed: ${which}: ${event.signal}`;
    case 'stopping': {
      const valid = `lock valid for another ${roughly(event.validMs)}`;
      return `stopping: ${which}: ${causeLine(event.cause)}: sent ${event.signal}, ${valid}`;
    }
    case 'lost-at-release':
      return `lost: ${which}: another client held it when it was released`;
    case 'missing-at-release': {
      const what = 'too few masters still showed our value when it was released';
      const why = 'another client may have held the lock while the command ran';
      return `warning: ${which}: ${what}; ${why} (look at redlockctl history)`;
    }
    case 'leftovers': {
      const what = `the command left ${processes(event.count)} behind`;
      return event.isKept
        ? `left: ${which}: ${what}, going on without the lock`
        : `warning: ${which}: ${what}; ending them (--keep-background leaves them)`;
    }
    case 'unkillable': {
      const why = "another user's, or not to be interrupted";
      const what = `cannot kill ${event.pids.join(', ')} (${why})`;
      const rest = `the lock is not released and expires within ${roughly(event.remainingMs)}`;
      return `warning: ${which}: ${what}; ${rest}`;
    }
    case 'guard-restarted':
      return `warning: ${which}: ${guardIs[event.how]}; started another one`;
    case 'guard-lost':
      return `warning: ${which}: ${guardIs[event.how]}; ending the command`;
    case 'never-started':
      return `lost: ${which}: ${reasonLine(event.reason)}: the command is not started`;
    case 'unknown-start':
      return `lost: ${which}: ${reasonLine('guard-lost')}: the command ${unknownStart}`;
    case 'killed':
      return `killed: ${which}: sent SIGKILL`;
    case 'clock-jumped': {
      const what = `${roughly(event.ms)} passed unnoticed (asleep, or its time was set)`;
      return `clock: this machine: ${what}; counted against the lock`;
    }
  }
}

/**
 * The line about an end that the exit code alone leaves unclear; null: the exit code is enough.
 * `canWait`: the run was not told to try only once.
 */
export function endingLine(
  names: readonly string[],
  command: readonly string[],
  finished: Finished,
  canWait = true,
): string | null {
  const { result, unconfirmedMs } = finished;
  const which = whichOf(names);
  const { cause, childExit } = result;
  switch (cause.kind) {
    case 'not-acquired':
      return notAcquiredLine(which, cause.acquisition, canWait);
    case 'lost': {
      const since = unconfirmedMs === null ? '' : `, unconfirmed for ${roughly(unconfirmedMs)}`;
      return `lost: ${which}: ${lossLine(cause)}${since}; the command ${stopLine(result)}`;
    }
    case 'replaced': {
      const why = `given up for ${waiterLine(cause.by)}`;
      return `replaced: ${which}: ${why}; the command ${stopLine(result)}`;
    }
    case 'stopped': {
      const why = `asked by ${personLine(cause.by)}`;
      return `stopped: ${which}: ${why}; the command ${stopLine(result)}`;
    }
    case 'max-run': {
      const why = `the command ran too long and ${stopWord(result)}`;
      return `max-run: ${which}: ${why} (raise --max-run)`;
    }
    case 'signal':
      return null;
    case 'child':
      return childExit?.kind === 'not-found' || childExit?.kind === 'not-executable'
        ? commandLine(childExit, command[0] ?? '', names)
        : null;
  }
}

/** What only a shell understands, most of it no program. */
const shellWord =
  /^(\w+=.*|\.|alias|cd|eval|exec|export|for|if|set|source|ulimit|umask|unset|until|while)$/s;

/** Why a command could not be started. `names`: of the locks. */
export function commandLine(exit: ChildExit, file: string, names: readonly string[] = []): string {
  const which = `command: ${quoted(file)}`;
  return exit.kind === 'not-found'
    ? `${which}: not found (${adviceOn(file, names)})`
    : `${which}: cannot be executed: ${exitLine(exit)} (check its permissions)`;
}

function adviceOn(file: string, names: readonly string[]): string {
  if (shellWord.test(file)) return 'only a shell knows it: write -c STRING';
  if (/ /.test(file)) return 'write its words without quotes, or -c STRING for a shell';
  const path = names.find((name) => /^[.~]{0,2}\//.test(name));
  return `check the name and PATH${path ? `; ${quoted(path)} was taken for NAME` : ''}`;
}

function notAcquiredLine(which: string, acquisition: NotAcquired, canWait: boolean): string | null {
  switch (acquisition.kind) {
    case 'nested': {
      const why = 'held by an enclosing run, which cannot end while this one waits';
      const advice = 'choose another name, or --reentrant to run under its lock';
      return `busy: ${which}: ${why} (${advice})`;
    }
    case 'superseded':
      return supersededLine(which, acquisition.by);
    case 'enclosing-lost': {
      const why = 'the masters do not show it as held by the enclosing run';
      return `lost: ${which}: ${why}; the command was not started`;
    }
    case 'busy': {
      const { holder, freeInMs, holderCount, queuedCount } = acquisition;
      const held = holderLine(holder, freeInMs, holderCount);
      if (queuedCount !== undefined) {
        const queue = `${queuedCount} waiting already; ${held}`;
        return `busy: ${which}: ${queue} (try later, or raise --max-waiters)`;
      }
      const longer = canWait ? 'wait longer with -w' : 'wait with -w';
      const advice = parseFreeze(holder) ? 'redlockctl thaw ends it' : longer;
      return `busy: ${which}: ${held} (${advice})`;
    }
    case 'unreachable':
      return `no quorum: ${which}: ${failuresLine(acquisition.failures)}`;
    case 'too-slow': {
      const why = `the masters took ${roughly(acquisition.elapsedMs)}, too long for this ttl`;
      return `no quorum: ${which}: ${why} (raise --ttl)`;
    }
    case 'misconfigured':
      return `masters: ${failuresLine(acquisition.failures)}`;
    case 'aborted':
      return null;
  }
}

const needed = 'the lock needs only a quorum of the masters';
const unidentified = 'refuses INFO or ROLE: a replica or a restart could not be seen';
const guardIs = { died: 'the guard process died', silent: 'the guard process does not answer' };

const unknownStart = 'may have been started: that is not known, and it is not started again';

function causeLine(cause: StopReason): string {
  switch (cause.kind) {
    case 'lost':
      return `lost (${lossLine(cause)})`;
    case 'signal':
      return `told to stop by ${cause.signal}`;
    case 'replaced':
      return `given up for ${waiterLine(cause.by)}`;
    case 'stopped':
      return `asked to stop by ${personLine(cause.by)}`;
    default:
      return cause.kind;
  }
}

function lossLine({ reason, by }: Extract<StopReason, { kind: 'lost' }>): string {
  return by ? `broken by ${personLine(by)}` : reasonLine(reason);
}

function reasonLine(reason: RunLossReason): string {
  switch (reason) {
    case 'taken':
      return 'taken: masters show the value of another client';
    case 'expired':
      return 'expired: too few masters still show our value: it ran out, or was broken';
    case 'unreachable':
      return 'unreachable: no quorum extended it in time';
    case 'suspended':
      return (
        'suspended: redlock-run did not run when the lock had to be extended ' +
        '(stopped, asleep, starved)'
      );
    case 'guard-lost':
      return 'guard-lost: no guard process was left, and no command runs without one';
    case 'masters-replaced':
      return 'masters-replaced: the local masters were removed, and later runs start others';
  }
}

/**
 * Whether the command itself was killed. SIGKILL may have ended only processes that it had started.
 */
function stopWord({ childExit, isKilled }: RunResult): string {
  const hasDiedOfIt =
    childExit === null ||
    childExit.kind === 'unknown-exit' ||
    (childExit.kind === 'signaled' && childExit.signal === 'SIGKILL');
  return isKilled && hasDiedOfIt ? 'was killed' : 'was stopped';
}

/** "was stopped: exit code 3" */
function stopLine(result: RunResult): string {
  const { cause, childExit } = result;
  if (childExit?.kind === 'never-started') return 'was not started';
  if (childExit?.kind === 'unknown-start') return unknownStart;
  const word = cause.kind === 'lost' && cause.isLate ? 'had ended by then' : stopWord(result);
  return `${word}${childExit ? `: ${exitLine(childExit)}` : ''}`;
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
    case 'unknown-exit':
    case 'unknown-start':
      return 'how it ended is not known';
    case 'never-started':
      return 'never started';
  }
}

function masters(count: number): string {
  return count === 1 ? '1 master' : `${count} masters`;
}

function processes(count: number): string {
  return count === 1 ? '1 process' : `${count} processes`;
}
