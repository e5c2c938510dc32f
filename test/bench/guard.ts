// The cost of the guard: memory and processor time while its command runs, with other flags of Node
// for comparison. Memory is PSS, which divides shared pages by the processes that share them; a
// second Node program costs much less than its size.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { frugal } from '../../src/run/guard/guard-process.ts';
import {
  answerDescriptor,
  asLine,
  type GuardRequest,
  requestDescriptor,
} from '../../src/run/guard/protocol.ts';

/** The checkout; the benchmark is compiled into a folder below it. */
const checkout = path.resolve('.');
const program = path.join(checkout, 'dist/guard.js');
const watchMs = Number(process.env.GUARD_WATCH_MS ?? 20_000);

const flagSets: Record<string, readonly string[]> = {
  'as shipped': frugal,
  'no flags': [],
  'heap limits only': ['--max-old-space-size=24', '--max-semi-space-size=1'],
  'shipped, --single-threaded': [...frugal, '--single-threaded'],
  'shipped, --jitless': [...frugal, '--jitless'],
  'shipped, --optimize-for-size': [...frugal, '--optimize-for-size'],
};

export async function guard() {
  const costs: Record<string, object> = {};
  for (const [name, flags] of Object.entries(flagSets)) costs[name] = await costOf(flags);
  return costs;
}

/**
 * A guard with a command; a second Node program stands for redlock-run, with which it shares
 * memory.
 */
async function costOf(flags: readonly string[]) {
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...flags, program], {
    argv0: 'redlock-guard',
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  const config = {
    stopSignal: 'SIGTERM',
    graceMs: 1_000,
    slackMs: 100,
  } as const;
  ask(child, { kind: 'configure', config });
  const answers = (child.stdio as readonly unknown[])[answerDescriptor] as Duplex;
  await new Promise((resolve) => answers.once('data', resolve));
  const readyMs = performance.now() - startedAt;
  const readings = {
    monotonic: Number(process.hrtime.bigint()) / 1e6,
    boot: null,
    wall: Date.now(),
  };
  ask(child, { kind: 'deadlines', readings, stopInMs: 1e6, killInMs: 1e6 });
  const command = ['sleep', '1000'];
  const environment = { PATH: process.env.PATH };
  const plan = { command, environment, isForeground: false, hasNamespace: false };
  ask(child, { kind: 'start', plan });
  await sleep(2_000);
  const ticksBefore = ticksOf(child);
  await sleep(watchMs);
  const rollup = readFileSync(`/proc/${child.pid}/smaps_rollup`, 'utf8');
  const kilobytes = (name: string) =>
    Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(rollup)?.[1]);
  const cost = {
    'Pss MB': (kilobytes('Pss') / 1024).toFixed(1),
    'private MB': ((kilobytes('Private_Clean') + kilobytes('Private_Dirty')) / 1024).toFixed(1),
    'RSS MB': (kilobytes('Rss') / 1024).toFixed(1),
    'CPU ms a minute': (((ticksOf(child) - ticksBefore) * 10 * 60_000) / watchMs).toFixed(0),
    'ready after ms': readyMs.toFixed(0),
    threads: /^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1],
  };
  const gone = once(child, 'exit');
  pipeTo(child).destroy(); // It ends its command.
  other.kill('SIGKILL');
  await gone;
  return cost;
}

function pipeTo(child: ChildProcess): Duplex {
  return child.stdio[requestDescriptor] as Duplex;
}

let lastId = 0;

function ask(child: ChildProcess, request: GuardRequest): void {
  lastId += 1;
  pipeTo(child).write(asLine({ ...request, id: lastId }));
}

/** User and system time, in ticks of 10 ms. */
function ticksOf({ pid }: ChildProcess): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
