// The results of the implementations as a table: on the terminal, and with INTEROP_PAGE as
// docs/results/interop.md.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { describeMachine } from '../bench/machine.ts';
import type { Implementation } from './implementations.js';
import type { Sections } from './section.ts';

/** What came of one implementation. */
export interface Row {
  readonly implementation: Implementation;
  /** Why it was not run; null: it was. */
  reason: string | null;
  passed: number;
  failed: number;
  /** null: the shared section was not run, or failed. */
  sections: Sections | null;
}

const heads = ['implementation', 'from', 'masters', 'checks', 'theirs', 'program', 'library'];

/** Prints the table, and writes the page if it is asked for. */
export async function report(rows: readonly Row[]): Promise<void> {
  const lines = tableOf(rows);
  process.stdout.write(`\n${[...lines, '', sumOf(rows)].join('\n')}\n`);
  if (process.env.INTEROP_PAGE) writeFileSync('docs/results/interop.md', await pageOf(rows));
}

function tableOf(rows: readonly Row[]): string[] {
  const cells = rows.map(({ implementation, reason, passed, failed, sections }) => {
    const { title, registry, masterCount } = implementation;
    const start = [title, registry, masterCount];
    if (reason !== null) return [...start, `not run: ${reason}`, '', '', '', ''];
    const counts = failed === 0 ? passed : `${passed}, and ${failed} **failed**`;
    if (sections === null) return [...start, counts, '', '', '', ''];
    const { theirs, program, library, overlaps } = sections;
    return [...start, counts, theirs, program, library, overlaps];
  });
  const all = [[...heads, 'overlaps'], [...heads, ''].map(() => '---'), ...cells];
  return all.map((line) => `| ${line.join(' | ')} |`);
}

function sumOf(rows: readonly Row[]): string {
  const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0);
  const missing = rows.filter(({ reason }) => reason !== null).length;
  const sectionCount = sum(({ sections }) =>
    sections === null ? 0 : sections.theirs + sections.program + sections.library,
  );
  return (
    `${rows.length - missing} implementations run, ${missing} not run; ` +
    `${sum(({ passed }) => passed)} checks passed, ${sum(({ failed }) => failed)} failed; ` +
    `${sectionCount} shared sections, ${sum(({ sections }) => sections?.overlaps ?? 0)} overlaps.`
  );
}

async function pageOf(rows: readonly Row[]): Promise<string> {
  const { cpu, cores, system, load, versions } = await describeMachine();
  const git = ['rev-parse', '--short=10', 'HEAD'];
  const commit = execFileSync('git', git, { encoding: 'utf8' }).trim();
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return `# Other implementations beside ours

Made by \`npm run interop -- all --page\`; [what is checked, and what it shows](../interop.md).

${cpu}, ${cores} cores, ${system}, load ${load} after the run;
${names.join(', ')}; commit ${commit}.

*Checks*: that passed, of those that apply to it. *Theirs*, *program*, *library*: how often each was
in the section that all three share. *Overlaps*: how often one was in it beside another.

${tableOf(rows).join('\n')}

${sumOf(rows)}
`;
}
