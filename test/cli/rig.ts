// The built redlock-run on masters of a test file's own. Most tests need three masters, know them by REDLOCK_MASTERS, and
// afterwards look whether a key is left.
//
// The surprise: these masters were started a moment ago, and a production default lets such masters not vote for one ttl.
// So the restart grace is off here; tests of the grace itself turn it on.

import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import {
  type MasterOptions,
  nothingLeft,
  startMasters,
  stopAll,
  type TestMaster,
} from '../servers/masters.ts';
import { noConfiguration } from '../servers/no-configuration.ts';
import { eventually } from '../servers/processes.ts';
import {
  type CliRun,
  interpreter,
  isStandalone,
  program,
  type RunOptions,
  type RunResult,
  startCli,
} from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';

export type { CliRun, RunOptions, RunResult, TestMaster };
/** For shells that run the program themselves. */
export { interpreter, isStandalone, program };

export interface Rig {
  readonly masters: TestMaster[];
  start(words: readonly string[], options?: RunOptions): CliRun;
  run(words: readonly string[], options?: RunOptions): Promise<RunResult>;
}

/** Masters for all tests of this file, emptied before each; to be called at the top of the file. */
export function useMasters(howMany: number, options: MasterOptions = {}): Rig {
  const masters: TestMaster[] = [];
  beforeAll(async () => {
    masters.push(...(await startMasters(howMany, options)));
  });
  beforeEach(() => Promise.all(masters.map(restored)));
  afterAll(async () => {
    await stopAll();
    nothingLeft();
  });
  const start = (words: readonly string[], { env, ...others }: RunOptions = {}) =>
    startCli(words, { ...others, env: { ...environmentFor(masters), ...env } });
  return { masters, start, run: (words, more) => start(words, more).result };
}

/** Up, awake and empty, whatever a test that failed has left it as. */
async function restored(master: TestMaster): Promise<void> {
  if (!master.isRunning) return master.restart();
  master.thaw();
  await master.flush();
}

/** What leads redlock-run to these masters. */
export function environmentFor(masters: readonly { url: string }[]): Record<string, string> {
  const urls = masters.map(({ url }) => url).join(',');
  return { ...noConfiguration, REDLOCK_MASTERS: urls, REDLOCK_RESTART_GRACE: '0' };
}

/** The path of a program that plays a role. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
}

/** The words that run a JavaScript fixture. */
export function node(name: string, ...words: string[]): string[] {
  return [process.execPath, fixture(name), ...words];
}

/** The keys on a master, without the counters of fences and the histories, which stay. */
export async function locksOn(master: TestMaster): Promise<string[]> {
  return (await master.keys()).filter((key) => !/:(fence|history)$/.test(key));
}

/** In four seconds: for three of them it is remembered that somebody has superseded others. */
export async function untilNothingIsLeft(masters: readonly TestMaster[]): Promise<void> {
  for (const master of masters) {
    await eventually(
      `${master.name} keeps nothing`,
      async () => (await locksOn(master)).length === 0,
      4_000,
    );
  }
}

/** How many of the masters show a value under the name, whosever it is. */
export async function countOf(masters: readonly TestMaster[], name: string): Promise<number> {
  const values = await Promise.all(masters.map((master) => master.get(`redlock:${name}`)));
  return values.filter((value) => value !== null).length;
}

/** Somebody else holds the lock, and does not let go. */
export async function takeBy(
  value: string,
  masters: readonly TestMaster[],
  name: string,
  ttlMs = 60_000,
): Promise<void> {
  await Promise.all(
    masters.map((master) => master.command('set', `redlock:${name}`, value, 'px', ttlMs)),
  );
}

/** The lines of a stream, without the last line break. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** Looks all the time until the job says that it is over, or is, and returns the fewest masters that showed its value. */
export async function fewestHolding(
  masters: readonly TestMaster[],
  job: CliRun,
  name: string,
): Promise<number> {
  let hasEnded = false;
  job.child.once('exit', () => {
    hasEnded = true;
  });
  const isRunning = () => !hasEnded && !job.stdout.includes('over');
  let fewest = Number.POSITIVE_INFINITY;
  while (isRunning()) {
    const count = await countOf(masters, name);
    if (isRunning()) fewest = Math.min(fewest, count);
  }
  return fewest;
}

/** A configuration file with this text, readable by its owner alone. */
export function fileWith(text: string, mode = 0o600): string {
  const path = join(mkdtempSync(join(scratchFolder(), 'config-')), 'redlockrc');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
