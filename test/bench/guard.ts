// What the guard costs: memory and processor time while it waits, with other flags of Node for comparison, and what it adds to
// the start of a run. The surprise: memory is told as Pss, in which what the guard shares with redlock-run (most of Node
// itself) is divided by those who share it; a second Node program costs much less than its size.

import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { frugal } from '../../src/run/guard/guard-process.ts';
import { pipeDescriptor } from '../../src/run/guard/protocol.ts';
import { inTurns } from './rounds.ts';

/** The checkout; the benchmark is compiled into a folder below it. */
const checkout = path.resolve('.');
const program = path.join(checkout, 'dist/guard.js');
const watchMs = Number(process.env.GUARD_WATCH_MS ?? 20_000);
const roundCount = 20;

const flagSets: Record<string, readonly string[]> = {
  'as shipped': frugal,
  'no flags': [],
  'heap limits only': ['--max-old-space-size=24', '--max-semi-space-size=1'],
  'shipped, --single-threaded': [...frugal, '--single-threaded'],
  'shipped, --jitless': [...frugal, '--jitless'],
  'shipped, --optimize-for-size': [...frugal, '--optimize-for-size'],
};

export async function guard(masters: readonly string[]) {
  const memory: Record<string, object> = {};
  for (const [name, flags] of Object.entries(flagSets)) memory[name] = await costOf(flags);
  console.table(memory);
  return starts(masters);
}

/** A guard beside a redlock-run that holds a lock: for the memory that they share, a second Node program stands in. */
async function costOf(flags: readonly string[]) {
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  const orders = { runId: 'bench-guard', pid: process.pid, stopSignal: 'SIGTERM', graceMs: 1_000, slackMs: 100 };
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...flags, program], {
    argv0: 'redlock-guard',
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  lineTo(child).write(`${JSON.stringify({ kind: 'orders', orders })}\n`);
  await new Promise((resolve) => lineTo(child).once('data', resolve));
  const readyMs = performance.now() - startedAt;
  arm(child, 1);
  await sleep(2_000);
  const ticksBefore = ticksOf(child);
  const endAt = performance.now() + watchMs;
  for (let count = 2; performance.now() < endAt; count += 1) {
    arm(child, count);
    await sleep(Math.min(10_000, watchMs)); // As often as with a ttl of 30 s.
  }
  const rollup = readFileSync(`/proc/${child.pid}/smaps_rollup`, 'utf8');
  const kilobytes = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(rollup)?.[1] ?? Number.NaN);
  const cost = {
    'Pss MB': (kilobytes('Pss') / 1024).toFixed(1),
    'private MB': ((kilobytes('Private_Clean') + kilobytes('Private_Dirty')) / 1024).toFixed(1),
    'RSS MB': (kilobytes('Rss') / 1024).toFixed(1),
    'CPU ms a minute': (((ticksOf(child) - ticksBefore) * 10 * 60_000) / watchMs).toFixed(0),
    'ready after ms': readyMs.toFixed(0),
    threads: /^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1],
  };
  child.kill('SIGKILL');
  other.kill('SIGKILL');
  return cost;
}

function lineTo(child: ChildProcess): Duplex {
  return child.stdio[pipeDescriptor] as Duplex;
}

function arm(child: ChildProcess, count: number): void {
  const readings = { monotonic: Number(process.hrtime.bigint()) / 1e6, boot: null, wall: Date.now() };
  lineTo(child).write(`${JSON.stringify({ kind: 'arm', count, readings, stopInMs: 1e6, killInMs: 1e6 })}\n`);
}

/** User and system time, in ticks of 10 ms. */
function ticksOf({ pid }: ChildProcess): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** The whole program, with its guard and with one that is an empty Node program. */
async function starts(masters: readonly string[]) {
  const copy = mkdtempSync(path.join(tmpdir(), 'redlock-bench-'));
  try {
    for (const folder of ['bin', 'dist'])
      cpSync(path.join(checkout, folder), path.join(copy, folder), { recursive: true });
    writeFileSync(
      path.join(copy, 'dist/guard.js'),
      `require('node:fs').writeSync(3, '{"kind":"ready"}\\n'); setInterval(() => {}, 1e6);`,
    );
    const words = [...masters.flatMap((url) => ['--master', url]), 'bench', '--', 'true'];
    const time = (folder: string) => () => timeOf([path.join(folder, 'bin/redlock-run.js'), ...words]);
    return await inTurns(
      [
        { name: 'with a guard that does nothing', measure: time(copy) },
        { name: 'with its guard', measure: time(checkout) },
      ],
      roundCount,
    );
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function timeOf(words: readonly string[]): Promise<number> {
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const env = { ...environment, REDLOCK_RESTART_GRACE: '0' };
    const child = spawn(process.execPath, words, { stdio: 'ignore', env });
    child.once('exit', (code) => {
      if (code === 0) resolve(performance.now() - startedAt);
      else reject(new Error(`${words.join(' ')} exited with ${code}`));
    });
  });
}
