// A test that is skipped proves nothing. So each file that may skip one stands in a table of
// test/README.md, with what a machine lacks then.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const tests = path.resolve(import.meta.dirname, '..');
const names = readdirSync(tests, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .sort();
const textOf = (file: string) => readFileSync(path.join(tests, file), 'utf8');
/** In any form: as a modifier of a test, or called within one. */
const skipping = /(?:\b(?:it|test|describe)\s*\.|[^.\w])(?:skipIf|runIf|skip|todo)\(/;

it('only files of the table in test/README.md may skip a test', () => {
  const [, after = ''] = textOf('README.md').split('**What is skipped, and where.**');
  const rows = after.split('\n').filter((line) => line.startsWith('| '));
  const table = rows.slice(2, rows.findIndex((line) => line.startsWith('| the other library')) + 1);
  const listed = table.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  const found = names.filter((file) => skipping.test(textOf(file)));
  const files = found.map((file) => file.replace('.test.ts', ''));
  expect([...new Set(listed)].sort()).toEqual(files.sort());
});

it('no test is skipped or left to be written everywhere', () => {
  const always = /\b(?:it|test|describe)\s*\.(?:skip|todo|only)\(/;
  const files = names.filter((file) => always.test(textOf(file)));
  expect(files).toEqual(['interop/implementations.test.ts']); // What was not asked for by name.
});
