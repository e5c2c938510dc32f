// The table of past runs, which fits a terminal: the sentence about how a run ended stands below
// its row where it is long. Pure.

import stringWidth from 'string-width';
import { rowsOf } from '../../cli/rows.ts';
import { roughly } from '../../text/lines.ts';
import { printable } from '../../text/printable.ts';
import { renderTable } from '../output.ts';
import { momentOf } from './local-time.ts';
import { actLineOf, reasonOf } from './reason.ts';
import { type PastAct, type PastRun, startOf } from './run-history.ts';

const indent = '    ';

/**
 * Runs and what people did, by time. `columns`: the width of the terminal. `isOneName`: all are of
 * one lock: it is not named.
 */
export function renderHistory(
  runs: readonly PastRun[],
  acts: readonly PastAct[],
  isOneName: boolean,
  columns: number,
): string {
  const rows = [
    ...runs.map((run) => rowOf(run, isOneName)),
    ...acts.map((act) => rowOfAct(act, isOneName)),
  ].sort((a, b) => a.atMs - b.atMs);
  const whole = renderRows(rows, isOneName, true, columns);
  const width = Math.max(0, ...whole.split('\n').map((line) => stringWidth(line)));
  return width <= columns ? whole : renderRows(rows, isOneName, false, columns);
}

interface Row {
  readonly atMs: number;
  readonly name: readonly string[];
  readonly runner: string;
  readonly spans: readonly [waited: string, held: string];
  /** The first words of how it ended, and the rest. */
  readonly end: readonly [short: string, rest: string];
}

function rowOf(run: PastRun, isOneName: boolean): Row {
  const { name, user, host, pid, label, waitMs, heldMs } = run;
  return {
    atMs: startOf(run),
    name: isOneName ? [] : [printable(name, 40)],
    runner: printable(`${user}@${host} ${pid} ${label}`, 60),
    spans: [roughly(waitMs), heldMs === null ? '' : roughly(heldMs)],
    end: splitEnd(reasonOf(run)),
  };
}

function rowOfAct(act: PastAct, isOneName: boolean): Row {
  const { name, at, user, host, pid } = act;
  return {
    atMs: Date.parse(at),
    name: isOneName ? [] : [printable(name, 40)],
    runner: printable(`${user}@${host} ${pid} redlockctl`, 60),
    spans: ['', ''],
    end: splitEnd(actLineOf(act)),
  };
}

/** At the first colon. */
function splitEnd(sentence: string): Row['end'] {
  const [, short = '', rest = ''] = /^(.*?)(?:: (.*))?$/s.exec(sentence) ?? [];
  return [short, rest];
}

/** `hasRunner`: in a column; otherwise below the row, with the reason. */
function renderRows(
  rows: readonly Row[],
  isOneName: boolean,
  hasRunner: boolean,
  columns: number,
): string {
  const head = [
    'BEGAN',
    ...(isOneName ? [] : ['NAME']),
    ...(hasRunner ? ['WHO'] : []),
    'WAITED',
    'HELD',
    'WHAT BECAME OF IT',
  ];
  const table = renderTable(
    head,
    rows.map(({ atMs, name, runner, spans, end }) => [
      momentOf(atMs),
      ...name,
      ...(hasRunner ? [runner] : []),
      ...spans,
      end[0],
    ]),
  );
  const [heading = '', ...lines] = table.trimEnd().split('\n');
  if (heading === '') return '';
  const below = (row: Row) =>
    [hasRunner ? '' : row.runner, row.end[1]]
      .filter((text) => text !== '')
      .flatMap((text) => rowsOf(text, columns - indent.length).map((line) => indent + line));
  return [heading, ...lines.flatMap((line, at) => [line, ...below(rows[at] as Row)])]
    .map((line) => `${line}\n`)
    .join('');
}
