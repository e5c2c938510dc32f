// What a run of the benchmarks leaves in docs/: charts, and the tables of docs/performance.md, each between its marks. It
// measures nothing. The surprise: what was not measured in the run stays on the page as it was.

import { readFileSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.ts';
import type { CostRow } from './cost.ts';
import type { CycleRow } from './cycles.ts';
import type { Machine } from './machine.ts';

export interface Run {
  readonly machine: Machine;
  readonly results: {
    readonly cycles?: Record<string, Record<string, CycleRow>>;
    readonly cost?: Record<string, CostRow>;
  };
}

const page = 'docs/performance.md';
const charted = ['3 masters', '5 masters', '5 masters, 2 frozen', '5 masters, 1 ms away'];

export function writePage({ machine, results: { cycles, cost } }: Run): void {
  if (cycles) {
    replace('cycles', `${describe(machine)}\n\n${cyclesTable(cycles)}`);
    const panels = charted.flatMap((title) => {
      const rows = cycles[title];
      if (!rows) return [];
      return [{ title, rows: Object.entries(rows).map(([name, row]) => ({ name, ...row, note: brief(row.trouble) })) }];
    });
    writeFileSync('docs/cycles.svg', chartOf('One acquire and release', panels));
    console.log('docs/cycles.svg');
  }
  if (cost) replace('cost', `${describe(machine)}\n\n${costTable(cost)}`);
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
      const head = `| ${title} | times the floor | spread | cycles a second | p50 ms | p99 ms |`;
      return [head, '| --- | --- | --- | --- | --- | --- |', ...lines].join('\n');
    })
    .join('\n\n');
}

function costTable(cost: Record<string, CostRow>): string {
  const lines = Object.entries(cost).map(([name, row]) => {
    const { pss_MB, alone_MB, core_percent, cpu_ms_a_minute, commands_a_minute } = row;
    return `| ${name} | ${[pss_MB, alone_MB, core_percent, cpu_ms_a_minute, commands_a_minute].join(' | ')} |`;
  });
  const head =
    '| each | PSS MB | MB beside no other Node | % of a core | CPU ms a minute | commands a minute on each master |';
  return [head, '| --- | --- | --- | --- | --- | --- |', ...lines].join('\n');
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

function replace(name: string, text: string): void {
  const marks = { begin: `<!-- ${name} -->`, end: `<!-- /${name} -->` };
  const [before, rest] = readFileSync(page, 'utf8').split(marks.begin);
  const after = rest?.split(marks.end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no ${marks.begin}`);
  writeFileSync(page, `${before}${marks.begin}\n${text}\n${marks.end}${after}`);
  console.log(`${page}: ${name}`);
}
