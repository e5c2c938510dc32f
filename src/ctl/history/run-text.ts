// Past runs as text: how each ended (a kind, which decides the colour, and a sentence), and the
// table of them, which fits a terminal: a long sentence is below its row. Pure.

import stringWidth from 'string-width';
import { fitted, rowsOf } from '../../cli/rows.ts';
import { renderTable } from '../../cli/table.ts';
import { vanished } from '../../lock/history.ts';
import { freezeLabel } from '../../lock/people.ts';
import { isMode } from '../../lock/value.ts';
import { printable, quoted } from '../../text/foreign-text.ts';
import {
  modeLine,
  personLine,
  reasonBehind,
  reasonParts,
  roughly,
  unkillableLine,
} from '../../text/lines.ts';
import { isOutcome, outcomeTable, pastLoss } from '../../text/outcomes.ts';
import { momentOf } from '../../text/time.ts';
import { endOf, type PastAct, type PastHolder, type PastRun, startOf } from './run-history.ts';

/**
 * How a run ended, with its text, in the order of the legend. done: exit code 0; failed: any other;
 * missed: it was never started.
 */
export const kinds = {
  done: 'done',
  failed: 'failed',
  'max-run': 'ran too long',
  stopped: 'told to stop',
  lost: 'lost the lock',
  vanished: 'end unknown',
  // Not "runs": of redlockctl acquire no process is left.
  running: 'held now',
  missed: 'did not run',
} as const;
export type Kind = keyof typeof kinds;

/** Of a run that held its lock; otherwise it is done or failed. */
const kindOfOutcome: ReadonlyMap<string, Kind> = new Map([
  ['running', 'running'],
  ['lost', 'lost'],
  ['max-run', 'max-run'],
  ['signal', 'stopped'],
  ['replaced', 'stopped'],
  ['stopped', 'stopped'],
  ['unwanted', 'stopped'],
]);

export function kindOf({ outcome, heldMs, exitCode }: PastRun): Kind {
  if (outcome === vanished) return vanished;
  if (heldMs === null) return 'missed';
  return kindOfOutcome.get(outcome) ?? (exitCode === 0 ? 'done' : 'failed');
}

/** A shorter wait needs no explanation. */
const longWaitMs = 1_000;

/** The first words of how a run ended, and the rest, which may be empty. */
type Ending = readonly [short: string, rest: string];

/** "did not run: held by ops@web1, pid 4711, backup.sh, since 2026-11-21 01:10:00" */
export function sentenceOf([short, rest]: Ending): string {
  return rest === '' ? short : `${short}: ${rest}`;
}

/** With what it waited for, and in parentheses what its own --note and CI job were. */
export function endingOf(run: PastRun): Ending {
  const kind = kindOf(run);
  const [short, reason] = endings[kind]?.(run) ?? [kinds[kind], ''];
  const waited = waitedFor(run);
  const left =
    run.unkillable.length === 0 ? '' : `could not kill ${unkillableLine(run.unkillable)}`;
  const rest = [reason, left, waited].filter(Boolean).join('; ');
  const why = reasonParts(run).join(', ');
  if (why === '') return [short, rest];
  if (rest === '') return [`${short} (${why})`, ''];
  // The text about a blocker may end with a note of its own.
  const hasBlocker = waited !== '' || (run.heldMs === null && run.blocker !== null);
  return [short, `${rest} (${hasBlocker ? 'this run: ' : ''}${why})`];
}

/** Empty for a run that did not wait, or whose end names what was in its way. */
function waitedFor({ heldMs, waitMs, blocker }: PastRun): string {
  if (heldMs === null || waitMs === null || waitMs < longWaitMs || blocker === null) return '';
  return `waited: ${heldLine(blocker)}`;
}

/** Of the kinds whose text does not say it all. */
const endings: Readonly<Partial<Record<Kind, (run: PastRun) => Ending>>> = {
  missed: (run) => [`${kinds.missed}${howOften(run)}`, whyMissed(run)],
  failed: (run) => [howFailed(run), ''],
  'max-run': () => [kinds['max-run'], 'stopped by --max-run'],
  stopped: whyStopped,
  lost: (run) => [kinds.lost, whyLost(run)],
  vanished: () => [kinds.vanished, 'killed, its host died, or it was cut off at its release'],
};

function howFailed({ exitCode, signal }: PastRun): string {
  if (signal !== null) return `died of ${printable(signal, 40)}`;
  return exitCode === null ? 'how it ended is not known' : `exit code ${exitCode}`;
}

function whyStopped({ outcome, status, stoppedBy }: PastRun): Ending {
  if (stoppedBy !== null) {
    const { note } = stoppedBy;
    const person = personLine({ ...stoppedBy, note: null });
    return [`${kinds.stopped} by ${person}`, note === null ? '' : quoted(note)];
  }
  if (outcome === 'replaced') return ['stopped for a newer run', ''];
  if (outcome === 'unwanted') return ['released', 'the process that it was held for had ended'];
  return [`${kinds.stopped}, status ${status}`, ''];
}

function whyLost({ stoppedBy, lossReason }: PastRun): string {
  if (stoppedBy !== null) return `broken by ${personLine(stoppedBy)}`;
  return lossReason === null ? '' : (pastLoss(lossReason) ?? unknownReason(lossReason));
}

/** Written by another version of redlock-run. */
function unknownReason(word: string): string {
  return `for a reason that this version does not know (${quoted(word, 40)})`;
}

/** " (7 times since 2026-11-21 01:10:00)" */
function howOften({ count, firstAt }: PastRun): string {
  const at = Date.parse(firstAt ?? '');
  return count > 1 && !Number.isNaN(at) ? ` (${count} times since ${momentOf(at)})` : '';
}

const actWords: Readonly<Record<PastAct['act'], string>> = {
  stop: 'asked the holder to stop',
  break: 'broke the lock',
  freeze: 'froze it',
  thaw: 'thawed it',
};

function whyMissed({ outcome, blocker }: PastRun): string {
  const held = blocker === null ? '' : heldLine(blocker);
  if (outcome === 'busy' && held !== '') return held;
  const why = isOutcome(outcome) ? outcomeTable[outcome].missed : unknownReason(outcome);
  return [why, outcome === 'signal' ? held : ''].filter(Boolean).join('; ');
}

/** "held by ops@web1, pid 4711, backup.sh, since 2026-11-21 01:10:00" */
function heldLine(blocker: PastHolder): string {
  const { kind, token, user, host, pid, label, since } = blocker;
  if (isMode(token)) return modeLine(token);
  if (kind !== 'redlock-run') return `held by another program (value ${printable(token, 40)})`;
  const at = Date.parse(since ?? '');
  const isFreeze = label === freezeLabel;
  const parts = [
    `${user}@${host}`,
    `pid ${pid}`,
    ...(isFreeze || !label ? [] : [label]),
    ...(Number.isNaN(at) ? [] : [`since ${momentOf(at)}`]),
  ];
  const shown = parts.map((part) => printable(part, 60)).join(', ');
  return `${isFreeze ? 'frozen' : 'held'} by ${shown}${reasonBehind(blocker)}`;
}

/**
 * `columns`: the width of the terminal; null: there is none, and the table has the same columns and
 * rows whatever the names are. `isOneName`: all rows are of one lock, which is not named.
 */
export function renderHistory(
  rows: readonly Row[],
  isOneName: boolean,
  columns: number | null,
): string {
  const whole = renderRows(rows, isOneName, true, columns);
  const isWide = columns !== null && whole.split('\n').some((line) => stringWidth(line) > columns);
  return isWide ? fitted(renderRows(rows, isOneName, false, columns), columns) : whole;
}

/** A run, or what an operator did. */
export interface Row extends Pick<PastRun, 'name' | 'host' | 'pid' | 'user' | 'label'> {
  readonly atMs: number;
  /** How much of it was a wait. */
  readonly waitedMs: number;
  /** Infinite: it has not ended. */
  readonly endMs: number;
  readonly kind: Kind | 'act';
  /** Empty where it is not known yet: the wait is in the entry, which comes with the end. */
  readonly spans: readonly [waited: string, held: string];
  readonly end: Ending;
}

/** In the order of time. `frozenBy`: the tokens of the freezes that bar new runs at this moment. */
export function historyRows(
  runs: readonly PastRun[],
  acts: readonly PastAct[],
  frozenBy: readonly string[],
): Row[] {
  const spanOf = (ms: number | null) => (ms === null ? '' : roughly(ms));
  const ofRuns = runs.map((run): Row => {
    const { waitMs, heldMs } = run;
    const times = { atMs: startOf(run), waitedMs: waitMs ?? 0, endMs: endOf(run) };
    const spans = [spanOf(waitMs), spanOf(heldMs)] as const;
    return { ...run, ...times, kind: kindOf(run), spans, end: endingOf(run) };
  });
  const thaws = acts.filter(({ act }) => act === 'thaw');
  const thawedMs = new Map(thaws.map(({ token, at }) => [token, Date.parse(at)]));
  const ofActs = acts.map((act): Row => {
    const atMs = Date.parse(act.at);
    // The end of a freeze that has run out by itself is in no history.
    const lastMs = frozenBy.includes(act.token) ? Number.POSITIVE_INFINITY : atMs;
    const endMs = act.act === 'freeze' ? (thawedMs.get(act.token) ?? lastMs) : atMs;
    const end = [actWords[act.act], act.note === null ? '' : quoted(act.note)] as const;
    const common = { label: 'redlockctl', kind: 'act', waitedMs: 0, spans: ['', ''] } as const;
    return { ...act, ...common, atMs, endMs, end };
  });
  return [...ofRuns, ...ofActs].sort((a, b) => a.atMs - b.atMs);
}

const indent = '    ';
/** The width of the column of runners, and the least that it has for a command, in characters. */
const [maxRunner, minLabel] = [60, 30];

/** The number is whole, and 30 characters of the command, however long user and host are. */
function runnerOf({ user, host, pid, label }: Row): string {
  const runner = `${user}@${host}`;
  const roomForLabel = maxRunner - runner.length - ` ${pid} `.length;
  const what = ` ${pid} ${printable(label, Math.max(minLabel, roomForLabel))}`;
  return printable(runner, Math.max(0, maxRunner - what.length)) + what;
}

/** `hasRunner`: in a column; otherwise below the row, with the reason. */
function renderRows(
  rows: readonly Row[],
  isOneName: boolean,
  hasRunner: boolean,
  columns: number | null,
): string {
  if (rows.length === 0) return '';
  const ofName = ['NAME', ({ name }: Row) => printable(name, 40)] as const;
  const cells: readonly (readonly [head: string, cell: (row: Row) => string])[] = [
    ['BEGAN', ({ atMs }) => momentOf(atMs)],
    ...(isOneName ? [] : [ofName]),
    ...(hasRunner ? [['WHO', runnerOf] as const] : []),
    ['WAITED', ({ spans: [waited] }) => waited],
    ['HELD', ({ spans: [, held] }) => held],
    ['WHAT BECAME OF IT', ({ end: [short] }) => short],
  ];
  const head = cells.map(([heading]) => heading);
  const table = renderTable(
    head,
    rows.map((row) => cells.map(([, cell]) => cell(row))),
  );
  const [heading, ...lines] = table.trimEnd().split('\n');
  const room = (columns ?? Number.POSITIVE_INFINITY) - indent.length;
  const below = (row: Row) =>
    [hasRunner ? '' : runnerOf(row), row.end[1]]
      .filter((text) => text !== '')
      .flatMap((text) => rowsOf(text, room).map((line) => indent + line));
  const all = [heading, ...lines.flatMap((line, at) => [line, ...below(rows[at] as Row)])];
  return all.map((line) => `${line}\n`).join('');
}
