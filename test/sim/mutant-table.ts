// The table of mutants in test/README.md: printed row by row as each is caught, and written into
// the page between its marks when all of them were caught.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { hunt } from './hunt.ts';
import type { Mutant } from './mutant.ts';
import { checkout } from './mutant-build.ts';
import { mutants } from './mutants.ts';

const head =
  '| mutant | what it breaks | world | caught by | seeds needed |\n| --- | --- | --- | --- | --- |';
const marks = { begin: '<!-- mutants -->', end: '<!-- /mutants -->' };

/** The beginning of a row, which does not depend on the hunt. */
export function rowStart({ name, breaks, profile }: Mutant): string {
  return `| ${name} | ${breaks} | ${profile} |`;
}

/** The seed that showed each mutant when the table was made, by the name of the mutant. */
export function knownSeeds(): Map<string, number> {
  const rows = readFileSync(page(), 'utf8').matchAll(/^\| (\S+) \|.*\| (\d+) \(of \d+\) \|$/gm);
  return new Map([...rows].map(([, name = '', seed]) => [name, Number(seed)]));
}

/** Resolves with the exit code: 1 when a mutant was not caught. */
export async function printMutants(): Promise<number> {
  const rows: string[] = [];
  let missedCount = 0;
  console.log(head);
  for (const mutant of mutants) {
    const caught = await hunt(mutant);
    if (!caught) missedCount += 1;
    const seeds = caught
      ? `${caught.seed} (of ${mutant.withinSeeds})`
      : `**none of ${mutant.withinSeeds}**`;
    rows.push(`${rowStart(mutant)} ${caught?.by ?? '**no checker**'} | ${seeds} |`);
    console.log(rows.at(-1));
  }
  if (missedCount === 0) write(rows);
  return missedCount === 0 ? 0 : 1;
}

function write(rows: readonly string[]): void {
  const text = readFileSync(page(), 'utf8');
  const [before, rest] = text.split(marks.begin);
  const after = rest?.split(marks.end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`test/README.md has no ${marks.begin}`);
  writeFileSync(
    page(),
    `${before}${marks.begin}\n${head}\n${rows.join('\n')}\n${marks.end}${after}`,
  );
}

function page(): string {
  return path.join(checkout(), 'test', 'README.md');
}
