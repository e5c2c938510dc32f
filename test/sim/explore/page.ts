// docs/results/explore.md: what the search of the small worlds has found.

import os from 'node:os';
import type { Exploration } from './explorer.ts';
import { settings } from './setting.ts';
import { smallMutants } from './small-mutants.ts';
import type { Caught } from './wander.ts';

export interface Outcome {
  /** The name of the world. */
  readonly setting: string;
  readonly cpuSeconds: number;
  readonly exploration: Exploration;
}

export interface Hunted {
  /** The name of the world. */
  readonly setting: string;
  readonly mutant: string;
  /** null: in none of the schedules. */
  readonly caught: Caught | null;
}

interface Facts {
  /** The most schedules in which a mutant was looked for in one world. */
  readonly huntSchedules: number;
  /** How `npm run explore` was called. */
  readonly args: readonly string[];
  readonly commit: string;
}

/** `outcomes`: of the code as it is; `hunted`: of the mutants. */
export function pageOf(
  outcomes: readonly Outcome[],
  hunted: readonly Hunted[],
  { huntSchedules, args, commit }: Facts,
): string {
  const rows = outcomes.map(({ setting, cpuSeconds, exploration }) => {
    const { stateCount, stepCount, depth, isWhole, broken } = exploration;
    const what = settings.find(({ name }) => name === setting)?.what ?? '';
    const counts = [stateCount, stepCount].map((count) => count.toLocaleString('en'));
    const found = broken ? `**${broken.finding.property}**` : 'nothing';
    const end = isWhole ? `**the end** (${depth} steps)` : `${depth} steps`;
    const cells = [setting, what, end, ...counts];
    return rowOf([...cells, `${Math.ceil(cpuSeconds)} s`, found]);
  });
  const caught = smallMutants.map(({ name, breaks }) => {
    const where = hunted.flatMap(({ setting, mutant, caught: by }) =>
      by !== null && mutant === name
        ? [`${setting} (${by.finding.property}, ${by.scheduleCount.toLocaleString('en')})`]
        : [],
    );
    return rowOf([name, breaks, where.join(', ') || '**none**']);
  });
  const [cpu] = os.cpus();
  const command = ['npm run explore', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  return `# Every schedule of small worlds

Made by \`${command}\`;
[what is exhaustive and what is not](../algorithm.md#every-schedule-of-small-worlds).

${cpu?.model.trim()}, ${os.cpus().length} cores; node ${process.versions.node}; commit ${commit}.

## The lock as it is

*Complete to*: every schedule of at most so many steps was played; at **the end**, every schedule of
any length, because longer ones lead to no other states. *States* are different states of masters,
clients and messages, and *steps* lead from one to another; they include what was played of the next
longer schedules. The time is that of one core. Each night the workflow *night* plays up
to 100,000 states of each world.

| world | what happens | complete to | states | steps | time | found |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

## The mutants

In each world, each mutant was looked for in ${huntSchedules.toLocaleString('en')} schedules drawn
by chance. In brackets: the property that broke first, and in which of the schedules.

| mutant | what it breaks | caught in |
| --- | --- | --- |
${caught.join('\n')}
`;
}

function rowOf(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}
