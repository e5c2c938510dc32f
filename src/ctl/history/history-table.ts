// The table of past runs, which fits a terminal: the sentence about how a run ended stands below
// its row where it is long. Pure.

import stringWidth from 'string-width';
import { rowsOf } from '../../cli/terminal-line.ts';
import { roughly } from '../../text/lines.ts';
import { printable } from '../../text/printable.ts';
import { renderTable } from '../table.ts';
import { type PastRun, startOf } from './chronicle.ts';
import { momentOf } from './local-time.ts';
import { reasonOf } from './reason.ts';

const indent = '    ';

/** `columns`: the width of the terminal. `isOneName`: all runs are of one lock: it is not named. */
export function renderHistory(
  runs: readonly PastRun[],
  isOneName: boolean,
  columns: number,
): string {
  const rows = runs.map((run) => rowOf(run, isOneName));
  const whole = renderRows(rows, isOneName, true, columns);
  const width = Math.max(0, ...whole.split('\n').map((line) => stringWidth(line)));
  return width <= columns ? whole : renderRows(rows, isOneName, false, columns);
}

interface Row {
  readonly began: string;
  readonly name: readonly string[];
  readonly runner: string;
  readonly spans: readonly [waited: string, held: string];
  /** The first words of how it ended, and the rest. */
  readonly end: readonly [short: string, rest: string];
}

function rowOf(run: PastRun, isOneName: boolean): Row {
  const { name, user, host, pid, label, waitMs, heldMs } = run;
  const [, short = '', rest = ''] = /^(.*?)(?:: (.*))?$/s.exec(reasonOf(run)) ?? [];
  return {
    began: momentOf(startOf(run)),
    name: isOneName ? [] : [printable(name, 40)],
    runner: printable(`${user}@${host} ${pid} ${label}`, 60),
    spans: [roughly(waitMs), heldMs === null ? '' : roughly(heldMs)],
    end: [short, rest],
  };
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
    rows.map(({ began, name, runner, spans, end }) => [
      began,
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
