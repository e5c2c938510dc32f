// The cost of holding a lock and of waiting for one: memory and processor time of redlock-run with
// its guard, without the command, and commands on each master; alone, and many on one machine. It
// has no peers, because libraries have no guard and no program. Starts are not included: measuring
// begins when all programs are idle.

import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestMaster } from '../servers/masters.ts';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import { aloneOf, cpuMsOf, familyOf, pssOf } from './processes.ts';

/** What one run costs; `count` of them were measured together. */
export interface CostRow {
  readonly count: number;
  readonly pss_MB: number;
  /** The same, if no other program on the machine used Node. */
  readonly alone_MB: number;
  readonly processes: number;
  readonly cpu_ms_a_minute: number;
  /** Percent of one core. */
  readonly core_percent: number;
  /** On each master, by one run. */
  readonly commands_a_minute: number;
}

const program = path.resolve('bin/redlock-run.js');
const watchMs = Number(process.env.COST_WATCH_MS ?? 60_000);
const crowdCount = Number(process.env.COST_CROWD ?? 100);
/** Until the garbage of the start is collected, and the first extension is over. */
const restMs = 12_000;
/**
 * A start takes 100 ms of both cores: starts come slower than that, so that no holder loses its
 * lock to the load.
 */
const startEveryMs = 250;

type Runs = { readonly name: string; readonly children: ChildProcess[] };

export async function cost(masters: readonly TestMaster[]): Promise<Record<string, CostRow>> {
  const runs: Runs[] = [];
  try {
    const rows: Record<string, CostRow> = {};
    for (const count of crowdCount > 1 ? [1, crowdCount] : [1]) {
      const holders: Runs = { name: `holding, ${count} at once`, children: [] };
      runs.push(holders);
      for (let index = 0; index < count; index += 1)
        holders.children.push(await begin(masters, `held-${count}-${index}`));
      rows[holders.name] = await measure(holders, masters, 0);
      const waiters: Runs = { name: `waiting, ${count} at once`, children: [] };
      runs.push(waiters);
      for (let index = 0; index < count; index += 1)
        waiters.children.push(await begin(masters, `held-${count}-0`));
      // The holders go on: their commands on the masters have just been measured.
      const heldCommands = (rows[holders.name]?.commands_a_minute ?? 0) * count;
      rows[waiters.name] = await measure(waiters, masters, heldCommands);
      for (const { children } of runs.splice(0)) await Promise.all(children.map(end));
    }
    return rows;
  } finally {
    for (const { children } of runs) await Promise.all(children.map(end));
  }
}

async function begin(masters: readonly TestMaster[], name: string): Promise<ChildProcess> {
  const args = [
    ...masters.flatMap(({ url }) => ['--master', url]),
    '-q',
    name,
    '--',
    'sleep',
    '3600',
  ];
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const env = { ...environment, REDLOCK_RESTART_GRACE: '0' };
  const child = spawn(process.execPath, [program, ...args], { stdio: 'ignore', env });
  if (child.pid !== undefined) dieWithUs(child.pid);
  await sleep(startEveryMs);
  return child;
}

/** Ended by SIGTERM, so that the guard and the command end as well. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
  if (child.pid !== undefined) forget(child.pid);
}

async function measure(
  { name, children }: Runs,
  masters: readonly TestMaster[],
  alienCommands: number,
): Promise<CostRow> {
  await sleep(restMs);
  const isOurs = (words: string) => !words.startsWith('sleep');
  const families = children.flatMap(({ pid }) =>
    pid === undefined ? [] : [familyOf(pid, isOurs)],
  );
  const pids = families.flat();
  if (children.some(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null))
    throw new Error(`${name}: a run has ended`);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const commands = async () => sum(await Promise.all(masters.map(commandsOf)));
  const [commandsBefore, cpuBefore, startedAt] = [
    await commands(),
    sum(pids.map(cpuMsOf)),
    performance.now(),
  ];
  await sleep(watchMs);
  const minutes = (performance.now() - startedAt) / 60_000;
  const cpuMs = (sum(pids.map(cpuMsOf)) - cpuBefore) / minutes / children.length;
  const asked = ((await commands()) - commandsBefore) / masters.length / minutes - alienCommands;
  const row = {
    count: children.length,
    pss_MB: tenths(sum(pids.map(pssOf)) / children.length),
    alone_MB: tenths(aloneOf(families[0] ?? [])),
    processes: pids.length / children.length,
    cpu_ms_a_minute: Math.round(cpuMs),
    core_percent: Math.round(cpuMs / 6) / 100,
    commands_a_minute: tenths(asked / children.length),
  };
  console.log(`${name}: ${JSON.stringify(row)}`);
  return row;
}

/**
 * Calls of scripts and other commands of clients, without what scripts call, and without those of
 * this benchmark.
 */
async function commandsOf(master: TestMaster): Promise<number> {
  const stats = String(await master.command('info', 'commandstats'));
  const calls = [...stats.matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)];
  const asked = new Set(['eval', 'evalsha', 'subscribe', 'hello', 'role', 'auth', 'config|get']);
  return calls.reduce(
    (total, [, command, count]) => total + (asked.has(command ?? '') ? Number(count) : 0),
    0,
  );
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
