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
  /** The most states of a world; null: all of them. */
  readonly states: number | null;
  readonly commit: string;
}

/** `outcomes`: of the code as it is; `hunted`: of the mutants. */
export function pageOf(
  outcomes: readonly Outcome[],
  hunted: readonly Hunted[],
  { huntSchedules, states, commit }: Facts,
): string {
  const rows = outcomes.map(({ setting, cpuSeconds, exploration }) => {
    const { stateCount, stepCount, scheduleCount, depth, isWhole, broken } = exploration;
    const what = settings.find(({ name }) => name === setting)?.what ?? '';
    const counts = [stateCount, stepCount, scheduleCount].map((count) =>
      count.toLocaleString('en'),
    );
    const found = broken ? `**${broken.finding.property}**` : 'nothing';
    const cells = [setting, what, ...counts, depth, isWhole ? 'yes' : '**no**'];
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
  const command = `npm run explore${states === null ? '' : ` -- --states ${states}`}`;
  return `# Every schedule of small worlds

Made by \`${command}\`;
[what is exhaustive and what is not](../algorithm.md#every-schedule-of-small-worlds).

${cpu?.model.trim()}, ${os.cpus().length} cores; node ${process.versions.node}; commit ${commit}.

## The lock as it is

*States* are different states of masters, clients and messages. *Steps* lead from one to another.
*Schedules* were played from the beginning. *Longest*: the steps of the longest schedule. *All*:
whether every state of the world was entered. The time is that of one core.

| world | what happens | states | steps | schedules | longest | all | time | found |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
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
