// `npm run torture` on this machine for some seconds: it can fail, and it leaves nothing behind.
// What it finds in minutes and hours is in docs/results/torture.md.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scratchFolder } from '../servers/watchdog.ts';
import { judgeSections } from '../torture/judge.ts';
import type { Section } from '../torture/witness.ts';

/** For the files of the program under test alone. */
const TMPDIR = mkdtempSync(join(scratchFolder(), 't-'));
afterAll(() => expect(readdirSync(TMPDIR)).toEqual([]));

async function node(...args: readonly string[]) {
  const env = { ...process.env, TMPDIR };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  const [status] = await once(child, 'close');
  return { status, stdout };
}

// Compiled once: the tests run at the same time.
beforeAll(async () => {
  const { stdout } = await node('scripts/torture.js', '--help');
  expect(stdout).toContain('--break');
}, 120_000);

const compiled = 'node_modules/.cache/torture/test/torture/main.js';
const torture = (...args: readonly string[]) => node(compiled, '--lanes', '1', ...args);

test.concurrent('a short run: no finding', async () => {
  const { status, stdout } = await torture('--minutes', '0.2', '--seed', '1');
  expect([status, stdout]).toEqual([0, expect.stringMatching(/ sections, [1-9]\d* faults, 0 f/)]);
});

test.concurrent.each([
  ['lock', /^ {2}overlap: /m],
  ['guard', /^ {2}(overlap|outlived): /m],
])('--break %s: a finding, and how to see it again', async (broken, finding) => {
  const { status, stdout } = await torture('--minutes', '2', '--seed', '1', '--break', broken);
  expect(stdout).toMatch(finding);
  const again = `again: npm run torture -- --seed \\d+ --cells 1 --break ${broken}`;
  expect(stdout).toMatch(new RegExp(again));
  expect(status).toBe(1);
});

const section = (begunAt: number, lastAt: number, fence: number): Section => {
  const run = `r${fence}`;
  const what = { lock: 'a', token: run, run, shape: 'plain', parent: 1 };
  return { ...what, fence, begunAt, lastAt, endedAt: lastAt };
};

test.each([
  ['one after the other', [section(1, 2, 1), section(2.1, 3, 2)], []],
  ['the next begins too soon', [section(1, 2, 1), section(1.9, 3, 2)], ['overlap']],
  ['a long one around two', [section(1, 9, 1), section(2, 3, 2), section(4, 5, 3)], 2],
  ['the number falls', [section(1, 2, 2), section(3, 4, 1)], ['fence']],
  ['the number stays', [section(1, 2, 2), section(3, 4, 2)], ['fence']],
  ['no number', [section(1, 2, Number.NaN), section(3, 4, 1)], ['fence']],
])('judged: %s', (_, sections, expected) => {
  const kinds = judgeSections(sections).map(({ kind }) => kind);
  expect(Array.isArray(expected) ? kinds : kinds.length).toEqual(expected);
});
