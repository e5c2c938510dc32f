// The end of a run as one line: `what: which: why (what to do)`. Pure.

import type { Settings } from '../config/settings.ts';
import type { ChildExit, Lost, RunLossReason, RunRecord } from '../run/record.ts';
import { quoted } from '../text/foreign-text.ts';
import { personLine, roughly, unkillableLine, waiterLine, whichOf } from '../text/lines.ts';
import { lossLine } from '../text/outcomes.ts';
import { busyAdvice, longerWait, refusalLine, type Wording } from '../text/refusals.ts';

export type Requested = Pick<Settings, 'names' | 'command' | 'waitMs' | 'retries' | 'slotCount'>;

/** The line about an end that the exit code alone leaves unclear; null: the exit code is enough. */
export function endingLine(requested: Requested, record: RunRecord): string | null {
  const { names, command } = requested;
  const { cause, childExit, unconfirmedMs } = record;
  const which = whichOf(names);
  switch (cause.kind) {
    case 'lost': {
      const isLate = cause.reason === 'unreachable' || cause.reason === 'suspended';
      const hasSince = isLate && unconfirmedMs !== null;
      const since = hasSince ? `, last confirmed ${roughly(unconfirmedMs)} before` : '';
      return `lost: ${which}: ${causeOfLoss(cause)}${since}; the command ${stopLine(record)}`;
    }
    case 'replaced': {
      const why = `stopped for ${waiterLine(cause.by)}`;
      return `replaced: ${which}: ${why}; the command ${stopLine(record)}`;
    }
    case 'stopped': {
      const why = `asked by ${personLine(cause.by)}`;
      return `stopped: ${which}: ${why}; the command ${stopLine(record)}`;
    }
    case 'max-run': {
      const why = `the command ran too long and ${stopWord(record)}${leftLine(record)}`;
      return `max-run: ${which}: ${why} (raise --max-run)`;
    }
    case 'caller-gone':
      return `aborted: ${which}: the caller is gone (stderr was hung up); nothing was started`;
    case 'signal':
      return cause.signal === 'SIGHUP'
        ? hangupLine(which, 'the wait', 'run it under setsid')
        : null;
    case 'child':
      if (childExit?.kind === 'signaled' && childExit.signal === 'SIGHUP') {
        const advice = 'run it under setsid, or redlock-run NAME -- nohup COMMAND';
        return hangupLine(which, 'the command', advice);
      }
      if (childExit?.kind === 'cannot-start') return childExit.why;
      return childExit?.kind === 'not-found' || childExit?.kind === 'not-executable'
        ? commandLine(childExit, command[0] ?? '', names)
        : null;
    default:
      return refusalLine(names, cause, wordingFor(requested));
  }
}

function wordingFor({ waitMs, retries, slotCount }: Requested): Wording {
  const longer = retries ? 'raise --retry-count' : longerWait(waitMs);
  return {
    ttl: '--ttl',
    giveUpAfter: 'giveUpAfter',
    onBusy: (holder) => busyAdvice(holder, slotCount, longer),
    onNested: 'choose another name, or --reentrant to run under its lock',
  };
}

/** nohup cannot help: redlock-run handles SIGHUP, and what is handled is not ignored. */
function hangupLine(which: string, ended: string, advice: string): string {
  const why = `SIGHUP ended ${ended}, as when a terminal or ssh session closes`;
  return `hangup: ${which}: ${why} (to outlive it: ${advice}; nohup redlock-run does not help)`;
}

/** Words that only a shell understands; most of them are no programs. */
const shellWord =
  /^(\w+=.*|\.|alias|cd|eval|exec|export|for|if|set|source|ulimit|umask|unset|until|while)$/s;

/** Why a command could not be started. `names`: of the locks. */
export function commandLine(exit: ChildExit, file: string, names: readonly string[] = []): string {
  const which = `command: ${quoted(file)}`;
  if (exit.kind !== 'not-found')
    return `${which}: cannot be executed: ${exitLine(exit)} (check its permissions)`;
  return exit.interpreter === undefined
    ? `${which}: not found (${adviceOn(file, names)})`
    : `${which}: its interpreter was not found: ${quoted(exit.interpreter)} (${onInterpreter})`;
}

const onInterpreter = 'look at its #! line and line ends';

function adviceOn(file: string, names: readonly string[]): string {
  if (shellWord.test(file)) return 'only a shell knows it: write -c STRING';
  if (/ /.test(file)) return 'write its words without quotes, or -c STRING for a shell';
  const path = names.find((name) => /^[.~]{0,2}\//.test(name));
  return `check the name and PATH${path ? `; ${quoted(path)} was taken for NAME` : ''}`;
}

export const unknownStart = 'may have been started: that is not known, and it is not started again';

export function causeOfLoss({ reason, by }: Lost): string {
  return by ? `broken by ${personLine(by)}` : reasonLine(reason);
}

export function reasonLine(reason: RunLossReason): string {
  return lossLine(reason, 'redlock-run');
}

/**
 * Whether the command itself was killed. SIGKILL may have ended only processes that it had started.
 */
function stopWord({ childExit, isKilled, unkillable }: RunRecord): string {
  if (unkillable.length > 0 && childExit?.kind === 'unknown-exit') return 'could not be killed';
  const hasDiedOfIt =
    childExit === null ||
    childExit.kind === 'unknown-exit' ||
    (childExit.kind === 'signaled' && childExit.signal === 'SIGKILL');
  return isKilled && hasDiedOfIt ? 'was killed' : 'was stopped';
}

/** "was stopped: exit code 3" */
function stopLine(record: RunRecord): string {
  const { cause, childExit } = record;
  if (childExit?.kind === 'never-started') return 'was not started';
  if (childExit?.kind === 'unknown-start') return unknownStart;
  const word = cause.kind === 'lost' && cause.isAtRelease ? 'had ended by then' : stopWord(record);
  const isAlive = childExit?.kind === 'unknown-exit' && record.unkillable.length > 0;
  const exit = childExit && !isAlive ? `: ${exitLine(childExit)}` : '';
  return `${word}${exit}${leftLine(record)}`;
}

/** What could not be killed, behind what became of the command. */
function leftLine({ childExit, unkillable }: RunRecord): string {
  if (unkillable.length === 0) return '';
  const processes = unkillableLine(unkillable);
  return childExit?.kind === 'unknown-exit' ? `: ${processes}` : `; cannot kill ${processes}`;
}

export function exitLine(exit: ChildExit): string {
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
    case 'cannot-start':
    case 'caller-gone':
      return 'never started';
  }
}
