// Each mutant of guard.c is caught: by its decisions, which take a moment, or by the contract or a
// family of processes.

import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../servers/watchdog.ts';
import { guardSource } from './build.ts';
import { type Mutant, mutants } from './mutants.ts';

const source = readFileSync(guardSource, 'utf8');
const root = join(import.meta.dirname, '../..');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');
const unchanged = { name: 'unchanged', from: source, to: source };
/** A mutant may do nothing any more. So these limits are shorter than in the suite. */
const env = { ...process.env, TEST_PATIENCE: '0.5' };

describe('mutants of guard.c', () => {
  it('the decisions of the unchanged guard are right', async () => {
    expect(await isCaughtByDecisions(unchanged)).toBe(false);
  });

  it('the unchanged guard passes the tests that catch mutants', async () => {
    const names = mutants.flatMap(({ caughtBy }) => caughtBy ?? []);
    expect(await isCaughtByTest(unchanged, names.join('|'))).toBe(false);
  });

  it.concurrent.each(mutants)('$name is caught', async ({ caughtBy, ...mutant }) => {
    const isCaught = caughtBy
      ? await isCaughtByTest(mutant, caughtBy)
      : await isCaughtByDecisions(mutant);
    expect(isCaught).toBe(true);
  });
});

type Change = Omit<Mutant, 'caughtBy'>;

async function isCaughtByDecisions(change: Change): Promise<boolean> {
  const { folder, file } = write(change);
  const program = join(folder, 'decisions');
  await compile(join(import.meta.dirname, 'decisions.c'), program, [`-DGUARD="${file}"`]);
  const { code, stdout } = await run(program, []);
  if (code !== 0) expect(`${code} ${stdout}`).toMatch(/^1 line \d+: /);
  return code !== 0;
}

async function isCaughtByTest(change: Change, name: string): Promise<boolean> {
  const { folder, file } = write(change);
  const program = join(folder, 'redlock-guard');
  await compile(file, program, []);
  const words = [vitest, 'run', '--project', 'guard', '-t', name];
  const { code, stdout } = await run(process.execPath, words, { TEST_GUARD: program });
  expect(stdout).toMatch(code === 0 ? /Tests .*\d passed/ : /Tests .*\d failed/);
  return code !== 0;
}

function write(change: Change): { readonly folder: string; readonly file: string } {
  const folder = join(scratchFolder(), change.name);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'guard.c');
  writeFileSync(file, mutated(change));
  return { folder, file };
}

async function compile(file: string, output: string, flags: readonly string[]): Promise<void> {
  const { code, stderr } = await run('cc', ['-std=c11', '-w', ...flags, '-o', output, file]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

function run(
  file: string,
  words: readonly string[],
  variables: NodeJS.ProcessEnv = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    const options = { env: { ...env, ...variables }, cwd: root, timeout: 60_000 };
    const child = execFile(file, words, options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

function mutated({ name, from, to }: Change): string {
  const [before, after, ...others] = source.split(from);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${name}: its text does not occur once in guard.c`);
  return `${before}${to}${after}`;
}
