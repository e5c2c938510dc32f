// How a run ended, for people: a kind, which decides the colour, and a sentence. Pure.

import { freezeLabel } from '../../lock/freeze.ts';
import { isMark } from '../../lock/value.ts';
import { markLine, personLine } from '../../text/lines.ts';
import { printable } from '../../text/printable.ts';
import { quoted } from '../../text/quote.ts';
import { reasonBehind, reasonParts } from '../../text/reason.ts';
import { momentOf } from './local-time.ts';
import type { PastAct, PastHolder, PastRun } from './run-history.ts';

/** done: exit code 0; failed: any other; missed: the command was never started. */
export type Kind = 'done' | 'failed' | 'overdue' | 'stopped' | 'lost' | 'running' | 'missed';

/** The text for each kind, in the order of the legend. */
export const kinds: Readonly<Record<Kind, string>> = {
  done: 'done',
  failed: 'failed',
  overdue: 'ran too long',
  stopped: 'told to stop',
  lost: 'lost the lock',
  running: 'runs now',
  missed: 'did not run',
};

export function kindOf({ outcome, heldMs, exitCode }: PastRun): Kind {
  if (heldMs === null) return 'missed';
  switch (outcome) {
    case 'running':
    case 'lost':
      return outcome;
    case 'max-run':
      return 'overdue';
    case 'signal':
    case 'replaced':
    case 'stopped':
      return 'stopped';
    default:
      return exitCode === 0 ? 'done' : 'failed';
  }
}

/**
 * "did not run: held by ops@web1, pid 4711, backup.sh, since 2026-11-21 01:10:00", and in
 * parentheses what its own --note and CI job were.
 */
export function reasonOf(run: PastRun): string {
  const why = reasonParts(run).join(', ');
  return why === '' ? endOfRun(run) : `${endOfRun(run)} (${why})`;
}

function endOfRun(run: PastRun): string {
  const kind = kindOf(run);
  switch (kind) {
    case 'missed':
      return `${kinds.missed}${howOften(run)}: ${whyMissed(run)}`;
    case 'failed':
      return run.signal === null ? `exit code ${run.exitCode}` : `died of ${run.signal}`;
    case 'overdue':
      return `${kinds.overdue}: stopped by --max-run`;
    case 'stopped':
      if (run.stoppedBy !== null) return `${kinds.stopped} by ${personLine(run.stoppedBy)}`;
      return run.outcome === 'replaced'
        ? 'given up for a newer run'
        : `${kinds.stopped}, status ${run.status}`;
    case 'lost':
      if (run.stoppedBy !== null) return `${kinds.lost}: broken by ${personLine(run.stoppedBy)}`;
      return `${kinds.lost}: stopped`;
    default:
      return kinds[kind];
  }
}

/** " (7 times since 2026-11-21 01:10:00)" */
function howOften({ count, firstAt }: PastRun): string {
  const at = Date.parse(firstAt ?? '');
  return count > 1 && !Number.isNaN(at) ? ` (${count} times since ${momentOf(at)})` : '';
}

/** What a person did: "asked the holder to stop: hotfix". */
export function actLineOf({ act, note }: PastAct): string {
  const what = {
    stop: 'asked the holder to stop',
    break: 'broke the lock',
    freeze: 'froze it',
    thaw: 'thawed it',
    'repair-freeze': 'repaired the freeze',
  }[act];
  return note === null ? what : `${what}: ${quoted(note)}`;
}

function whyMissed({ outcome, blocker }: PastRun): string {
  const held =
    blocker === null
      ? ''
      : isMark(blocker.token ?? '')
        ? markLine(blocker.token ?? '')
        : `${blocker.label === freezeLabel ? 'frozen' : 'held'} by ${describe(blocker)}`;
  switch (outcome) {
    case 'busy':
      return held || 'others were first';
    case 'signal':
      return ['told to stop', held].filter(Boolean).join('; ');
    case 'no-quorum':
      return 'no quorum of masters answered';
    case 'superseded':
      return 'a newer run came';
    case 'misconfigured':
      return 'the masters are not the right ones, or refuse the login';
    case 'lost':
      return 'too late to start under its lease';
    default:
      return printable(outcome, 40);
  }
}

function describe({ kind, user, host, pid, label, since, token, ...reason }: PastHolder): string {
  if (kind !== 'redlock-run') return `another program (value ${printable(token, 40)})`;
  const at = Date.parse(since ?? '');
  const parts = [
    `${user}@${host}`,
    `pid ${pid}`,
    label === freezeLabel ? '' : (label ?? ''),
    Number.isNaN(at) ? '' : `since ${momentOf(at)}`,
  ];
  const shown = parts.filter(Boolean).map((part) => printable(part, 60));
  return shown.join(', ') + reasonBehind(reason);
}
