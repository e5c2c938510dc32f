// Holding and waiting beside `etcdctl lock` and a bare Node program, all in the same minutes, so
// that what else the machine does concerns all of them. What this machine lacks is left out.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TestMaster } from '../servers/masters.ts';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import { startEtcd } from './etcd.ts';
import { exactCpuMsOf, familyOf, growth, wakeUpsOf } from './processes.ts';

/** Of one program with all its helpers, and without the command. */
export interface BesideRow {
  readonly cpu_ms_a_minute: number;
  /** null: there is no etcdctl. */
  readonly to_etcdctl: number | null;
  /** Voluntary switches of all threads. */
  readonly wake_ups_a_minute: number;
}

const watchMs = Number(process.env.COST_WATCH_MS ?? 120_000);
/** Until the garbage of the start is collected, and the first extension is over. */
const restMs = 15_000;
/** A holder first, and its waiter when that has the lock. */
const apartMs = 2_000;
const bare = fileURLToPath(new URL('peers/bare-holder.cjs', import.meta.url));
const executable = path.resolve('dist/redlock-run');

type Program = { readonly child: ChildProcess; readonly pids: readonly number[] };

export async function beside(masters: readonly TestMaster[]): Promise<Record<string, BesideRow>> {
  const etcd = await startEtcd();
  const programs: Record<string, Program> = {};
  try {
    const urls = masters.flatMap(({ url }) => ['--master', url]);
    const sockets = masters.map(({ url }) => url.slice('unix://'.length));
    const ours = {
      'npm package': [process.execPath, path.resolve('bin/redlock-run.js')],
      ...(existsSync(executable) ? { executable: [executable] } : {}),
    };
    for (const way of ['holding', 'waiting']) {
      for (const [name, words] of Object.entries(ours)) {
        const job = ['-q', `beside ${name}`, '--', 'sleep', '3600'];
        programs[`${name}, ${way}`] = await begin([...words, ...urls, ...job]);
      }
      const floor = way === 'holding' ? ['extend', '10000'] : ['poll', '1000'];
      programs[`bare program, ${way}`] = await begin([
        process.execPath,
        bare,
        ...floor,
        ...sockets,
      ]);
      if (etcd) programs[`etcdctl lock, ${way}`] = await begin(etcd.hold(30));
    }
    return await measured(programs);
  } finally {
    for (const { child } of Object.values(programs)) await end(child);
    await etcd?.stop();
  }
}

async function begin([file = '', ...args]: readonly string[]): Promise<Program> {
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const env = { ...environment, REDLOCK_RESTART_GRACE: '0', ETCDCTL_API: '3' };
  const child = spawn(file, args, { stdio: 'ignore', env });
  if (child.pid !== undefined) dieWithUs(child.pid);
  await sleep(apartMs);
  const isHelper = (words: string) => !words.startsWith('sleep');
  return { child, pids: child.pid === undefined ? [] : familyOf(child.pid, isHelper) };
}

async function measured(programs: Record<string, Program>): Promise<Record<string, BesideRow>> {
  await sleep(restMs);
  const read = () =>
    Object.values(programs).map(({ pids }) => ({
      cpuMs: exactCpuMsOf(pids),
      wakeUps: wakeUpsOf(pids),
    }));
  const [before, startedAt] = [read(), performance.now()];
  await sleep(watchMs);
  const [after, minutes] = [read(), (performance.now() - startedAt) / 60_000];
  const names = Object.keys(programs);
  const aMinute = (name: string, figure: 'cpuMs' | 'wakeUps') => {
    const [first, last] = [before, after].map((all) => all[names.indexOf(name)]?.[figure]);
    return first && last ? growth(first, last) / minutes : Number.NaN;
  };
  for (const [name, { child }] of Object.entries(programs)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name}: has ended`);
  }
  const rows = names.map((name): [string, BesideRow] => {
    const peer = `etcdctl lock, ${name.endsWith('waiting') ? 'waiting' : 'holding'}`;
    const cpuMs = aMinute(name, 'cpuMs');
    const ratio = Math.round((cpuMs / aMinute(peer, 'cpuMs')) * 100) / 100;
    const row = {
      cpu_ms_a_minute: Math.round(cpuMs * 10) / 10,
      to_etcdctl: Number.isNaN(ratio) ? null : ratio,
      wake_ups_a_minute: Math.round(aMinute(name, 'wakeUps')),
    };
    return [name, row];
  });
  return Object.fromEntries(rows);
}

/** With its command, for which etcdctl waits. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    for (const pid of familyOf(child.pid ?? 0, () => true).reverse()) process.kill(pid, 'SIGTERM');
    await ended;
  }
  if (child.pid !== undefined) forget(child.pid);
}
