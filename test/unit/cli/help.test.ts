// What --help and --version print: every option, in 100 columns.

import { expect, it } from 'vitest';
import { renderHelp, renderVersion } from '../../../src/cli/help.ts';
import { optionTable } from '../../../src/config/options.ts';

it('is the version in one line', () => {
  expect(renderVersion('redlock-run')).toMatch(/^redlock-run \d+\.\d+\.\d+\n$/);
});

it('is help of at most 100 columns', () => {
  const long = (line: string) => line.length > 100 || line !== line.trimEnd();
  expect(renderHelp().split('\n').filter(long)).toEqual([]);
  expect(renderHelp().endsWith('\n')).toBe(true);
});

it('has every option, its alias and its default, but no hidden alias', () => {
  const text = renderHelp();
  for (const row of optionTable) {
    for (const flag of [row.short ?? '', row.long, ...(row.aliases ?? [])]) {
      expect(text).toContain(flag);
    }
    for (const flag of row.hiddenAliases ?? []) {
      expect(text).not.toMatch(new RegExp(`${flag}\\b`));
    }
  }
  expect(text).toContain('(default: 30s)');
  for (const code of ['64', '69', '70', '75', '78', '79', '124', '127', '128+N']) {
    expect(text).toContain(`  ${code} `);
  }
});
