// Writes the results of the benchmarks into docs/: charts, and a page for each benchmark that was
// run. It measures nothing.

import { writeFileSync } from 'node:fs';
import type { BesideRow } from './beside.ts';
import { type ChartRow, chartOf, type Legend, type Panel, timeLabelOf } from './chart.ts';
import type { ContentionRow } from './contention.ts';
import type { CostRow } from './cost.ts';
import type { CycleRow } from './cycles.ts';
import type { HandOverRow } from './hand-over.ts';
import { linesOf } from './lines.ts';
import type { Machine } from './machine.ts';
import type { ProfileRow } from './profile.ts';

export interface Run {
  readonly machine: Machine;
  readonly results: {
    readonly cycles?: Record<string, Record<string, CycleRow>>;
    readonly cost?: Record<string, CostRow>;
    readonly beside?: Record<string, BesideRow>;
    readonly contention?: Record<string, Record<string, ContentionRow>>;
    readonly 'hand-over'?: Record<string, HandOverRow>;
    /** By column, each a number as text. */
    readonly startup?: Record<string, Record<string, string>>;
    readonly profile?: Record<string, ProfileRow>;
    readonly idle?: Record<string, Record<string, string>>;
  };
}

interface Page {
  readonly title: string;
  readonly what: string;
  /** The page that explains the figures. */
  readonly meaning: 'performance' | 'waiting';
  readonly hasChart: boolean;
}

const pages: Readonly<Record<string, Page>> = {
  startup: {
    title: 'From start to exit',
    what: `Whole programs that acquire a lock on three masters, run \`true\` and release it, in
turn. A ratio is the median of the ratios within each round.`,
    meaning: 'performance',
    hasChart: true,
  },
  profile: {
    title: 'Where the time of a start goes',
    what: 'Processor time of redlock-run alone, by the profiler of Node.',
    meaning: 'performance',
    hasChart: false,
  },
  cycles: {
    title: 'Acquire and release beside other libraries',
    what: `One acquire and release after another on open connections. The floor is the same requests
over bare sockets. A ratio is the median of the ratios within each turn.`,
    meaning: 'performance',
    hasChart: true,
  },
  cost: {
    title: 'Holding and waiting',
    what: `redlock-run and its guard without the command. PSS divides pages that several programs
share by the number of programs that share them.`,
    meaning: 'performance',
    hasChart: true,
  },
  beside: {
    title: 'Holding and waiting beside etcdctl',
    what: `Processor time and wake-ups of each program with its helpers and without the command, a
ttl of 30 s, all in the same minutes. The bare program extends, or polls once a second.`,
    meaning: 'performance',
    hasChart: false,
  },
  idle: {
    title: 'A run beside thousands of idle processes',
    what: 'Whole runs of `true`, in blocks of eight, without and with the idle processes in turn.',
    meaning: 'performance',
    hasChart: false,
  },
  contention: {
    title: 'Many want one lock at once',
    what: 'W clients that want one lock, five masters, jobs of 2 ms.',
    meaning: 'waiting',
    hasChart: true,
  },
  'hand-over': {
    title: 'From one run to the next',
    what: 'From the end of one command to the start of the next, as processes.',
    meaning: 'waiting',
    hasChart: false,
  },
};
const charted = [
  '3 masters, on a core of their own',
  '5 masters',
  '5 masters, 2 frozen',
  '5 masters, 1 ms away',
];

export function writePage({ machine, results }: Run): void {
  const { startup, profile, cycles, cost, beside } = results;
  const { contention, 'hand-over': handOver, idle } = results;
  const write = (name: string, table: string) =>
    writeResult(name, `${describe(machine)}\n\n${table}`);
  if (startup) {
    write('startup', columnsTable(startup));
    const rows = Object.entries(startup).map(([name, row]): ChartRow => {
      return { name, p50: Number(row['median ms']), high: Number(row['p90 ms']), note: null };
    });
    const explanation = 'dot: median; line: to the 90th percentile';
    chart('startup', { title: 'From start to exit', explanation, labelOf: timeLabelOf }, [
      { title: 'three masters', rows },
    ]);
  }
  if (profile) write('profile', profileTable(profile));
  if (cycles) {
    write('cycles', cyclesTable(cycles));
    const panels = charted.flatMap((title) => {
      const rows = Object.entries(cycles[title] ?? {}).map(
        ([name, { p50, p99, problem }]): ChartRow => {
          return { name, p50, high: p99, note: brief(problem, 80) };
        },
      );
      return rows.length === 0 ? [] : [{ title, rows }];
    });
    const explanation = 'dot: median; line: to the 99th percentile';
    chart(
      'cycles',
      { title: 'One acquire and release', explanation, labelOf: timeLabelOf },
      panels,
    );
  }
  if (cost) {
    write('cost', costTable(cost));
    const panelOf = (title: string, figureOf: (row: CostRow) => number): Panel => ({
      title,
      rows: Object.entries(cost).map(([name, row]) => ({
        name,
        p50: figureOf(row),
        high: figureOf(row),
        note: null,
      })),
    });
    chart(
      'cost',
      { title: 'Holding and waiting', explanation: 'each of so many', labelOf: String },
      [
        panelOf('PSS, MB', (row) => row.pss_MB),
        panelOf('processor, ms a minute', (row) => row.cpu_ms_a_minute),
        panelOf('commands a minute', (row) => row.commands_a_minute),
      ],
    );
  }
  if (contention) {
    write('contention', contentionTable(contention));
    writeChart('docs/contention.svg', contentionChart(contention));
  }
  if (handOver) write('hand-over', handOverTable(handOver));
  if (idle) write('idle', columnsTable(idle));
  if (beside) write('beside', besideTable(beside));
}

function chart(name: string, legend: Legend, panels: readonly Panel[]): void {
  writeChart(`docs/${name}.svg`, chartOf(legend, panels));
}

/** Its columns as they were measured; ratios first. */
function columnsTable(startup: Record<string, Record<string, string>>): string {
  const columns = Object.keys(Object.values(startup)[0] ?? {});
  const lines = Object.entries(startup).map(
    ([name, row]) => `| ${name} | ${Object.values(row).join(' | ')} |`,
  );
  return tableOf(['', ...columns], lines);
}

function profileTable(profile: Record<string, ProfileRow>): string {
  const lines = Object.entries(profile).map(([name, { modules_ms, bundles_ms }]) => {
    return `| ${name} | ${modules_ms.toFixed(1)} | ${bundles_ms.toFixed(1)} |`;
  });
  return tableOf(['processor time of', 'as modules, ms', 'as bundles, ms'], lines);
}

function describe({ system, cpu, cores, memory_GB, load, versions }: Machine): string {
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const machine = `${cpu}, ${cores} cores, ${memory_GB} GB, ${system}`;
  return `${machine}, load ${load} before the run; ${names.join(', ')}.`;
}

/** A row for each contestant, a column for each situation; ratios first. */
function cyclesTable(cycles: Record<string, Record<string, CycleRow>>): string {
  return Object.entries(cycles)
    .map(([title, rows]) => {
      const lines = Object.entries(rows).map(([name, row]) => {
        const problem = brief(row.problem, 60);
        if (row.p50 === null) return `| ${name} | ${problem} | | | | |`;
        const shown = [
          show(row.to_floor),
          row.spread?.map(show).join(' to '),
          row.per_second,
          row.p50,
          row.p99,
        ];
        return `| ${name}${problem ? ` (then: ${problem})` : ''} | ${shown.join(' | ')} |`;
      });
      return tableOf(
        [title, 'times the floor', 'spread', 'cycles a second', 'p50 ms', 'p99 ms'],
        lines,
      );
    })
    .join('\n\n');
}

function costTable(cost: Record<string, CostRow>): string {
  const lines = Object.entries(cost).map(([name, row]) => {
    const { pss_MB, alone_MB, core_percent, cpu_ms_a_minute, commands_a_minute } = row;
    const cells = [pss_MB, alone_MB, core_percent, cpu_ms_a_minute, commands_a_minute];
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  const asked = 'commands a minute on each master';
  return tableOf(
    ['each', 'PSS MB', 'MB beside no other Node', '% of a core', 'CPU ms a minute', asked],
    lines,
  );
}

function besideTable(rows: Record<string, BesideRow>): string {
  const lines = Object.entries(rows).map(([name, row]) => {
    const { cpu_ms_a_minute, to_etcdctl, wake_ups_a_minute } = row;
    return `| ${name} | ${cpu_ms_a_minute} | ${to_etcdctl ?? ''} | ${wake_ups_a_minute} |`;
  });
  return tableOf(['', 'CPU ms a minute', 'to etcdctl lock', 'wake-ups a minute'], lines);
}

function contentionTable(contention: Record<string, Record<string, ContentionRow>>): string {
  const lines = Object.entries(contention).flatMap(([count, rows]) =>
    Object.entries(rows).map(([name, row], index) => {
      const problem = row.gave_up > 0 ? `; ${row.gave_up} gave up` : '';
      const handOver = row.p50 === null ? '' : `${row.p50} / ${row.p99}`;
      const shown = [
        row.to_floor,
        Math.round(row.drain_ms),
        handOver,
        row.out_of_order,
        row.commands,
      ];
      return `| ${index === 0 ? count : ''} | ${name}${problem} | ${shown.join(' | ')} |`;
    }),
  );
  const heads = ['times the floor', 'drained in ms', 'hand-over p50 / p99 ms', 'out of order'];
  return tableOf(['W', '', ...heads, 'commands a master and hand-over'], lines);
}

/** The floor is the one that was measured beside redlock-run. */
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
      'time until the last of W is done, divided by W; jobs of 2 ms, five masters; ' +
      'both scales logarithmic; lower is better',
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

/**
 * On one line, without addresses, which mean nothing to a reader; cut between words where it is
 * longer than so many characters.
 */
function brief(problem: string | null, maxChars: number): string {
  const line = (problem ?? '').replace(/unix \S+: /g, '').replace(/[\s|]+/g, ' ');
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1).replace(/ \S*$/, '')} …`;
}

function show(ratio: number | null): string {
  if (ratio === null) return '';
  return ratio.toFixed(ratio >= 100 ? 0 : 2);
}

function writeResult(name: string, table: string): void {
  const page = pages[name];
  if (page === undefined) throw new Error(`no page for the results of ${name}`);
  const { title, what, meaning, hasChart } = page;
  const made = `Made by \`npm run bench -- ${name} --plot\`; [what it means](../${meaning}.md).`;
  const picture = hasChart ? [`![${title}](../${name}.svg)`] : [];
  const text = [`# ${title}`, what, made, ...picture, table].join('\n\n');
  const file = `docs/results/${name}.md`;
  writeFileSync(file, `${text}\n`);
  console.log(file);
}

function writeChart(file: string, svg: string): void {
  writeFileSync(file, svg);
  console.log(file);
}
