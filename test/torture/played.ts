// `npm run torture` as a test plays it: compiled once, and nothing is left behind.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';

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

// The tests run at the same time.
beforeAll(async () => {
  const { stdout } = await node('scripts/torture.js', '--help');
  expect(stdout).toContain('--break');
}, generous(40_000));

const compiled = 'node_modules/.cache/torture/test/torture/main.js';
export const torture = (...args: readonly string[]) => node(compiled, '--lanes', '1', ...args);

/** Torture of a product with this mistake ends with its first finding. */
export async function expectFinding(broken: string, finding: RegExp): Promise<void> {
  const { status, stdout } = await torture('--minutes', '20', '--seed', '1', '--break', broken);
  expect(stdout).toMatch(finding);
  const again = `again: npm run torture -- --seed \\d+ --cells 1 --break '${broken}'`;
  expect(stdout).toMatch(new RegExp(again));
  expect(status).toBe(1);
}
