// How long a lock is free between two jobs that wait for it as processes: from the last act of one
// job to the first act of the next, for redlock-run, `etcdctl lock` and flock(1) in turn. The jobs
// themselves take the times, so everything between them counts: noticing the end of a job, stopping
// its leftover processes, the release, the wake-up, the next start.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEtcd } from './etcd.ts';
import { quantile } from './rounds.ts';

const waiterCount = 12;
const roundCount = 5;
/** How long the first job holds the lock, so that all others wait by then, in ms. */
const gatherMs = 4_000;
const workSeconds = 0.05;

/** The arguments before those of the job. */
type Locker = { readonly args: readonly string[]; readonly env: Record<string, string> };

export interface HandOverRow {
  /** Ratio of the medians; null: etcd did not take part. */
  readonly to_etcdctl: number | null;
  readonly median_ms: number;
  readonly p90_ms: number;
  readonly longest_ms: number;
  readonly count: number;
}

export async function handOver(masters: readonly string[]): Promise<Record<string, HandOverRow>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'redlock-bench-queue-'));
  const etcd = await startEtcd();
  try {
    const etcdName = `etcdctl lock ${etcd?.version}`;
    const [program, executable] = ['bin/redlock-run.js', 'dist/redlock-run'].map((file) =>
      fileURLToPath(new URL(`../../../../../${file}`, import.meta.url)),
    ) as [string, string];
    const env = { REDLOCK_MASTERS: masters.join(','), REDLOCK_RESTART_GRACE: '0', HOME: folder };
    const lockers: Record<string, Locker> = {
      'redlock-run': { args: [process.execPath, program, 'bench', '--'], env },
      ...(existsSync(executable)
        ? { 'redlock-run, executable': { args: [executable, 'bench', '--'], env } }
        : {}),
      ...(etcd
        ? { [etcdName]: { args: etcd.lock('sh').slice(0, -1), env: { ETCDCTL_API: '3' } } }
        : {}),
      flock: { args: ['flock', path.join(folder, 'lock')], env: {} },
    };
    const times = new Map<string, number[]>(Object.keys(lockers).map((name) => [name, []]));
    for (let round = 0; round < roundCount; round += 1) {
      for (const [name, locker] of Object.entries(lockers))
        times.get(name)?.push(...(await queue(locker, folder)));
    }
    const etcdTimes = times.get(etcdName);
    const rowOf = (all: readonly number[]): HandOverRow => ({
      to_etcdctl: etcdTimes
        ? Math.round((100 * quantile(all, 0.5)) / quantile(etcdTimes, 0.5)) / 100
        : null,
      median_ms: round(quantile(all, 0.5)),
      p90_ms: round(quantile(all, 0.9)),
      longest_ms: round(Math.max(...all)),
      count: all.length,
    });
    return Object.fromEntries([...times].map(([name, all]) => [name, rowOf(all)]));
  } finally {
    await etcd?.stop();
    rmSync(folder, { recursive: true });
  }
}

/**
 * One holder, then so many waiters. Resolves with the ms between the end of each job and the start
 * of the next.
 */
async function queue({ args, env }: Locker, folder: string): Promise<number[]> {
  const [log, job] = [path.join(folder, 'log'), path.join(folder, 'job.sh')];
  writeFileSync(log, '');
  // A file, because `etcdctl lock` reads what looks like an option as its own.
  writeFileSync(job, `date +'begin %s%N' >>'${log}'; sleep $1; date +'end %s%N' >>'${log}'\n`);
  const run = (seconds: number) =>
    new Promise<void>((resolve, reject) => {
      const [file = '', ...rest] = [...args, 'sh', job, String(seconds)];
      const child = spawn(file, rest, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { PATH: process.env.PATH, ...env },
      });
      child.once('error', reject);
      child.once('exit', () => resolve());
    });
  const first = run(gatherMs / 1000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await Promise.all([first, ...Array.from({ length: waiterCount }, () => run(workSeconds))]);
  const acts = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([what, at]) => ({ what, atMs: Number(BigInt(at ?? 0) / 1000n) / 1000 }));
  if (acts.some(({ what }, index) => what !== (index % 2 === 0 ? 'begin' : 'end')))
    throw new Error('two jobs at once');
  return acts.flatMap(({ what, atMs }, index) =>
    what === 'begin' && index > 0 ? [atMs - (acts[index - 1]?.atMs ?? 0)] : [],
  );
}

function round(ms: number): number {
  return Math.round(10 * ms) / 10;
}
