// What a run of the benchmarks leaves in docs/: charts, and the tables of the pages, each between its marks. It measures nothing. The
// surprise: what was not measured in the run stays on the page as it was.

import { readFileSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.ts';
import type { ContentionRow } from './contention.ts';
import type { CostRow } from './cost.ts';
import type { CycleRow } from './cycles.ts';
import type { HandOverRow } from './hand-over.ts';
import { linesOf } from './lines.ts';
import type { Machine } from './machine.ts';

export interface Run {
  readonly machine: Machine;
  readonly results: {
    readonly cycles?: Record<string, Record<string, CycleRow>>;
    readonly cost?: Record<string, CostRow>;
    readonly contention?: Record<string, Record<string, ContentionRow>>;
    readonly 'hand-over'?: Record<string, HandOverRow>;
  };
}

const pages = { performance: 'docs/performance.md', waiting: 'docs/waiting.md' };
const charted = ['3 masters', '5 masters', '5 masters, 2 frozen', '5 masters, 1 ms away'];

export function writePage({ machine, results }: Run): void {
  const { cycles, cost, contention, 'hand-over': handOver } = results;
  if (cycles) {
    replace(pages.performance, 'cycles', `${describe(machine)}\n\n${cyclesTable(cycles)}`);
    const panels = charted.flatMap((title) => {
      const rows = cycles[title];
      if (!rows) return [];
      return [{ title, rows: Object.entries(rows).map(([name, row]) => ({ name, ...row, note: brief(row.trouble) })) }];
    });
    writeChart('docs/cycles.svg', chartOf('One acquire and release', panels));
  }
  if (cost) replace(pages.performance, 'cost', `${describe(machine)}\n\n${costTable(cost)}`);
  if (contention) {
    replace(pages.waiting, 'contention', `${describe(machine)}\n\n${contentionTable(contention)}`);
    writeChart('docs/contention.svg', contentionChart(contention));
  }
  if (handOver) replace(pages.waiting, 'hand-over', `${describe(machine)}\n\n${handOverTable(handOver)}`);
}

function describe({ system, cpu, cores, memory_GB, load, versions }: Machine): string {
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `${cpu}, ${cores} cores, ${memory_GB} GB, ${system}, load ${load} before the run; ${names.join(', ')}.`;
}

/** A row a contestant, a column a situation; ratios first. */
function cyclesTable(cycles: Record<string, Record<string, CycleRow>>): string {
  return Object.entries(cycles)
    .map(([title, rows]) => {
      const lines = Object.entries(rows).map(([name, row]) => {
        const trouble = row.trouble
          ?.replace(/\s+|\|/g, ' ')
          .replace(/unix \S+: /g, '')
          .slice(0, 60);
        if (row.p50 === null) return `| ${name} | ${trouble} | | | | |`;
        const shown = [show(row.to_floor), row.spread?.map(show).join(' to '), row.per_second, row.p50, row.p99];
        return `| ${name}${trouble ? ` (then: ${trouble})` : ''} | ${shown.join(' | ')} |`;
      });
      return tableOf([title, 'times the floor', 'spread', 'cycles a second', 'p50 ms', 'p99 ms'], lines);
    })
    .join('\n\n');
}

function costTable(cost: Record<string, CostRow>): string {
  const lines = Object.entries(cost).map(([name, row]) => {
    const { pss_MB, alone_MB, core_percent, cpu_ms_a_minute, commands_a_minute } = row;
    return `| ${name} | ${[pss_MB, alone_MB, core_percent, cpu_ms_a_minute, commands_a_minute].join(' | ')} |`;
  });
  const asked = 'commands a minute on each master';
  return tableOf(['each', 'PSS MB', 'MB beside no other Node', '% of a core', 'CPU ms a minute', asked], lines);
}

function contentionTable(contention: Record<string, Record<string, ContentionRow>>): string {
  const lines = Object.entries(contention).flatMap(([count, rows]) =>
    Object.entries(rows).map(([name, row], index) => {
      const trouble = row.gave_up > 0 ? `; ${row.gave_up} gave up` : '';
      const handOver = row.p50 === null ? '' : `${row.p50} / ${row.p99}`;
      const shown = [row.to_floor, Math.round(row.drain_ms), handOver, row.out_of_order, row.commands];
      return `| ${index === 0 ? count : ''} | ${name}${trouble} | ${shown.join(' | ')} |`;
    }),
  );
  const heads = ['times the floor', 'drained in ms', 'hand-over p50 / p99 ms', 'out of order'];
  return tableOf(['W', '', ...heads, 'commands a master and hand-over'], lines);
}

/** The floor is the one that was measured beside ours. */
function contentionChart(contention: Record<string, Record<string, ContentionRow>>): string {
  const sizes = Object.entries(contention).map(([count, rows]) => ({ count: Number(count), rows }));
  const names = [...new Set(sizes.flatMap(({ rows }) => Object.keys(rows)))];
  const curveOf = (name: string, peer: string, of: (row: ContentionRow) => number) => ({
    name,
    points: sizes.flatMap(({ count, rows }) => {
      const row = rows[peer];
      return row ? [[count, of(row) / count] as const] : [];
    }),
  });
  const axes = {
    title: 'Many want one lock at once',
    caption:
      'time until the last of W is done, divided by W; jobs of 2 ms, five masters; both scales logarithmic; lower is better',
    unitOf: (ms: number) => `${ms} ms`,
  };
  return linesOf(axes, [
    ...names.map((name) => curveOf(name, name, ({ drain_ms }) => drain_ms)),
    curveOf('floor', names[0] ?? '', ({ floor_ms }) => floor_ms),
  ]);
}

function handOverTable(handOver: Record<string, HandOverRow>): string {
  const lines = Object.entries(handOver).map(([name, row]) => {
    const { to_etcdctl, median_ms, p90_ms, longest_ms } = row;
    return `| ${name} | ${[to_etcdctl ?? '', median_ms, p90_ms, longest_ms].join(' | ')} |`;
  });
  return tableOf(['', 'to etcdctl lock', 'median ms', 'p90 ms', 'longest ms'], lines);
}

function tableOf(heads: readonly string[], lines: readonly string[]): string {
  return [`| ${heads.join(' | ')} |`, `|${' --- |'.repeat(heads.length)}`, ...lines].join('\n');
}

/** On one line, without addresses, which mean nothing to a reader. */
function brief(trouble: string | null): string {
  return (trouble ?? '')
    .replace(/unix \S+: /g, '')
    .replace(/[\s|]+/g, ' ')
    .slice(0, 80);
}

function show(ratio: number | null): string {
  return ratio === null ? '' : ratio >= 100 ? ratio.toFixed(0) : ratio.toFixed(2);
}

function replace(page: string, name: string, text: string): void {
  const marks = { begin: `<!-- ${name} -->`, end: `<!-- /${name} -->` };
  const [before, rest] = readFileSync(page, 'utf8').split(marks.begin);
  const after = rest?.split(marks.end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no ${marks.begin}`);
  writeFileSync(page, `${before}${marks.begin}\n${text}\n${marks.end}${after}`);
  console.log(`${page}: ${name}`);
}

function writeChart(file: string, svg: string): void {
  writeFileSync(file, svg);
  console.log(file);
}
