// Starts the built redlock-run on masters of one test file. REDLOCK_MASTERS names the masters.
// *Note:* they have just started, and such masters do not vote for one ttl by default. So the
// restart grace is off here; tests of the grace turn it on.

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
  type CliResult,
  type CliRun,
  interpreter,
  isStandalone,
  program,
  type RunOptions,
  startCli,
} from '../servers/run-cli.ts';
import { sharedCache } from '../servers/shared-cache.ts';
import { scratchFolder } from '../servers/watchdog.ts';

export type { CliResult, CliRun, RunOptions, TestMaster };
/** For shells that run the program themselves. */
export { interpreter, isStandalone, program };

export interface Rig {
  readonly masters: TestMaster[];
  start(args: readonly string[], options?: RunOptions): CliRun;
  run(args: readonly string[], options?: RunOptions): Promise<CliResult>;
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
  const start = (args: readonly string[], { env, ...others }: RunOptions = {}) =>
    startCli(args, { ...others, env: { ...environmentFor(masters), ...env } });
  return { masters, start, run: (args, more) => start(args, more).result };
}

/** Makes the master run, thawed and empty, whatever a failed test has left. */
async function restored(master: TestMaster): Promise<void> {
  if (!master.isRunning) return master.restart();
  master.thaw();
  await master.flush();
}

/** The environment in which redlock-run uses these masters, and what V8 has compiled before. */
export function environmentFor(masters: readonly { url: string }[]): Record<string, string> {
  const urls = masters.map(({ url }) => url).join(',');
  const cache = { XDG_CACHE_HOME: sharedCache() };
  return { ...noConfiguration, ...cache, REDLOCK_MASTERS: urls, REDLOCK_RESTART_GRACE: '0' };
}

/** The path of a fixture. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
}

/** The words that run a JavaScript fixture. */
export function node(name: string, ...args: string[]): string[] {
  return [process.execPath, fixture(name), ...args];
}

/** The words of a job that works until it is told to stop; `code`: its exit code then. */
export function obedient(code = 0): string[] {
  return ['sh', fixture('obedient.sh'), String(code)];
}

/** The keys on a master, without the counters of fences and the histories, which stay. */
export async function locksOn(master: TestMaster): Promise<string[]> {
  return (await master.keys()).filter((key) => !/:(fence|history|mark|promotion)$/.test(key));
}

/** Waits four seconds: a master remembers for three of them that a waiter has superseded others. */
export async function untilNothingIsLeft(masters: readonly TestMaster[]): Promise<void> {
  for (const master of masters) {
    let left: string[] = [];
    const isEmpty = async () => {
      left = await locksOn(master);
      return left.length === 0;
    };
    await eventually(`${master.name} keeps nothing`, isEmpty, 4_000).catch((error) => {
      throw new Error(`${error.message}, but ${left.join(', ')}`);
    });
  }
}

/** How many of the masters show any value under the name. */
export async function countOf(masters: readonly TestMaster[], name: string): Promise<number> {
  const values = await Promise.all(masters.map((master) => master.get(`redlock:${name}`)));
  return values.filter((value) => value !== null).length;
}

/** Waits until all of the masters show a value: one not needed for a quorum may be late. */
export async function isOnEach(masters: readonly TestMaster[], name: string): Promise<void> {
  const isOnAll = async () => (await countOf(masters, name)) === masters.length;
  await eventually(`${name} is on each master`, isOnAll);
}

/** Makes another client hold the lock, which it never extends. */
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

/** Takes away what takeBy has set, when this run waits for it. */
export async function giveWayTo(
  run: CliRun,
  masters: readonly TestMaster[],
  name: string,
): Promise<void> {
  await run.says('stderr', /waiting/);
  await Promise.all(masters.map((master) => master.command('del', `redlock:${name}`)));
}

/** The lines of a stream, without the last line break. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** A configuration file with this text, readable by its owner alone. */
export function fileWith(text: string, mode = 0o600): string {
  const path = join(mkdtempSync(join(scratchFolder(), 'config-')), 'redlockrc');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}
