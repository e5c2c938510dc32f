// What --help and --version print: every option, in as many columns as the terminal has.

import { expect, it, test } from 'vitest';
import { helpColumns, renderHelp, renderVersion } from '../../../src/cli/help.ts';
import { optionTable } from '../../../src/config/setting-table.ts';
import { renderHelp as renderCtlHelp } from '../../../src/ctl/command-line.ts';

it('is the version in one line', () => {
  expect(renderVersion('redlock-run')).toMatch(/^redlock-run \d+\.\d+\.\d+\n$/);
});

test.each([40, 80, 100])('help in %i columns: only a word is ever wider', (columns) => {
  for (const text of [renderHelp(columns), renderCtlHelp(columns)]) {
    const lines = text.split('\n');
    const isCut = (line: string) => line !== line.trimEnd();
    expect(lines.filter(isCut)).toEqual([]);
    // The synopses and a few addresses are wider than a third of a narrow terminal.
    const wide = lines.filter((line) => line.length > columns && / \S+ \S+$/.test(line));
    expect(wide.filter((line) => !/^(Usage:| {7}redlock-run )/.test(line))).toEqual([]);
    expect(text.endsWith('\n')).toBe(true);
  }
});

test.each([
  [{ isTTY: true, columns: 40 }, 40],
  [{ isTTY: true, columns: 300 }, 100],
  [{ isTTY: true, columns: 0 }, 80],
  [{ isTTY: false, columns: 120 }, 80],
])('the width of help on %j is %i', (stream, columns) => {
  expect(helpColumns(stream)).toBe(columns);
});

test('options are named as they are written on the command line', () => {
  expect(renderHelp()).not.toMatch(/\b(holdAtLeast|retryCount|retryDelay)\b/);
});

it('has every option, its alias and its default, but no hidden alias', () => {
  const text = renderHelp();
  for (const row of optionTable) {
    expect(text).toContain(row.flags);
    for (const flag of row.spellings)
      if (!row.flags.includes(flag)) expect(text).not.toMatch(new RegExp(`${flag}\\b`));
  }
  expect(text).toContain('(default: 30s)');
  for (const code of ['64', '69', '70', '75', '78', '79', '124', '127', '128+N']) {
    expect(text).toContain(`  ${code} `);
  }
});
