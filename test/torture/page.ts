// The sums over all cells, as lines and as docs/results/torture.md.

import os from 'node:os';
import type { Wanted } from './arguments.ts';
import type { CellResult } from './cell.ts';
import { type Means, missing } from './means.ts';

export class Sum {
  cellCount = 0;
  runCount = 0;
  sectionCount = 0;
  longestPauseMs = 0;
  readonly faultCounts = new Map<string, number>();
  readonly endCounts = new Map<string, number>();
  readonly shapeCounts = new Map<string, number>();
  readonly sceneCounts = new Map<string, number>();
  readonly findingCounts = new Map<string, number>();

  add(result: CellResult): void {
    this.cellCount += 1;
    this.runCount += result.runCount;
    this.sectionCount += result.sectionCount;
    this.longestPauseMs = Math.max(this.longestPauseMs, result.longestPauseMs);
    addTo(this.faultCounts, result.faultCounts);
    addTo(this.endCounts, result.endCounts);
    addTo(this.shapeCounts, result.shapeCounts);
    addTo(this.sceneCounts, new Map([[result.scene, 1]]));
    for (const { kind } of result.findings) addTo(this.findingCounts, new Map([[kind, 1]]));
  }

  get faultCount(): number {
    return total(this.faultCounts);
  }

  get findingCount(): number {
    return total(this.findingCounts);
  }

  lines(): readonly string[] {
    const counted = (name: string, counts: ReadonlyMap<string, number>) =>
      `${name}: ${inOrder(counts)
        .map(([what, count]) => `${what} ${count}`)
        .join(', ')}`;
    return [
      `${this.cellCount} cells, ${this.runCount} runs, ${this.sectionCount} sections, ` +
        `${this.faultCount} faults, ${this.findingCount} findings`,
      counted('cells', this.sceneCounts),
      counted('faults', this.faultCounts),
      counted('ends', this.endCounts),
      counted('sections', this.shapeCounts),
      ...(this.findingCount > 0 ? [counted('findings', this.findingCounts)] : []),
    ];
  }
}

interface Facts {
  readonly wanted: Wanted;
  readonly minutesTaken: number;
  readonly commit: string;
  readonly means: Means;
}

export function pageOf(sum: Sum, { wanted, minutesTaken, commit, means }: Facts): string {
  const [cpu] = os.cpus();
  const { minutes, seed, lanes } = wanted;
  const notHere = missing(means);
  const count = (number: number) => number.toLocaleString('en');
  const table = (head: string, counts: ReadonlyMap<string, number>) =>
    [
      `| ${head} | count |`,
      '| --- | --- |',
      ...inOrder(counts).map(([what, number]) => `| ${what} | ${count(number)} |`),
    ].join('\n');
  const findings =
    sum.findingCount === 0
      ? '**No finding**: no two sections of a lock overlapped, no process outlived its section ' +
        'into a later one, every fencing number was higher than the one before, every exit code ' +
        'was true, and nothing was left.'
      : table('finding', sum.findingCounts);
  return `# Torture: real runs, real servers, faults by chance

Made by \`npm run torture -- --minutes ${minutes} --seed ${seed} --lanes ${lanes} --page\`;
[what it does and what it allows](../../test/README.md#torture).

${cpu?.model ?? 'unknown'}, ${os.cpus().length} cores, which other work shared; node \
${process.versions.node}; commit ${commit}; ${Math.round(minutesTaken)} minutes.\
${notHere.length > 0 ? ` Not on that machine: ${notHere.join('; ')}.` : ''}
The longest pause between two looks of the witness, which shows how busy the machine was, was
${(sum.longestPauseMs / 1000).toFixed(1)} s.

**${count(sum.cellCount)} cells, ${count(sum.runCount)} runs, ${count(sum.sectionCount)} \
sections, ${count(sum.faultCount)} faults.**
${findings}

${table('cells', sum.sceneCounts)}

${table('fault', sum.faultCounts)}

${table('command of a section', sum.shapeCounts)}

How the runs ended: the exit code, or the signal. 7 is the command's own.

${table('end', sum.endCounts)}
`;
}

function inOrder(counts: ReadonlyMap<string, number>): readonly [string, number][] {
  return [...counts].sort(([, a], [, b]) => b - a);
}

function addTo(sum: Map<string, number>, counts: ReadonlyMap<string, number>): void {
  for (const [what, count] of counts) sum.set(what, (sum.get(what) ?? 0) + count);
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
