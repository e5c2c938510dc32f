// The cost of an empty job: whole programs, from start to exit, against an empty Node program and
// against `etcdctl lock`, where there is one. The executable is measured if it has been built (`npm
// run build:standalone`). What this machine lacks is left out.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEtcd } from './etcd.ts';
import { cpuMsOfEnded } from './processes.ts';
import { quantile, ratioOf, timesInTurns } from './rounds.ts';

/** The checkout; the benchmark is compiled into a folder below it. */
const bin = path.resolve('bin/redlock-run.js');
const modules = fileURLToPath(new URL('peers/unbundled.js', import.meta.url));
const bare = fileURLToPath(new URL('peers/bare-run.cjs', import.meta.url));
const executable = path.resolve('dist/redlock-run');
const roundCount = Number(process.env.STARTUP_ROUNDS ?? 30);

export async function startup(masters: readonly string[]) {
  const etcd = await startEtcd();
  const cache = mkdtempSync(path.join(tmpdir(), 'redlock-bench-'));
  try {
    return await measured(
      programs(masters, etcd?.lock('true') ?? null, cache),
      etcd?.version ?? 'none',
    );
  } finally {
    rmSync(cache, { recursive: true, force: true });
    await etcd?.stop();
  }
}

type Programs = Record<
  string,
  { readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv }
>;
const node = 'empty Node program';
const etcdctl = 'etcdctl lock';

function programs(
  masters: readonly string[],
  lock: readonly string[] | null,
  cache: string,
): Programs {
  const job = [...masters.flatMap((url) => ['--master', url]), 'bench', '--', 'true'];
  const env = { XDG_CACHE_HOME: cache, REDLOCK_RESTART_GRACE: '0' };
  const sockets = masters.map((url) => url.slice('unix://'.length));
  const hasFlock = spawnSync('flock', ['--version']).status === 0;
  return {
    [node]: { args: [process.execPath, '-e', '0'] },
    'the same without redlock-run': {
      args: [process.execPath, bare, ...sockets, '--', 'true'],
    },
    'as modules, not bundled': { args: [process.execPath, modules, ...job], env },
    'npm package': { args: [process.execPath, bin, ...job], env },
    'npm package, first run': {
      args: [process.execPath, bin, ...job],
      env: { ...env, NODE_DISABLE_COMPILE_CACHE: '1' },
    },
    'npm package, --version': { args: [process.execPath, bin, '--version'], env },
    ...(existsSync(executable) ? { executable: { args: [executable, ...job], env } } : {}),
    ...(lock ? { [etcdctl]: { args: lock, env: { ETCDCTL_API: '3' } } } : {}),
    ...(hasFlock ? { flock: { args: ['flock', path.join(cache, 'lock'), 'true'] } } : {}),
  };
}

async function measured(programs: Programs, etcdVersion: string) {
  const size = existsSync(executable)
    ? `${(statSync(executable).size / 1e6).toFixed(0)} MB`
    : 'not built';
  console.log(
    `executable ${size}, etcdctl ${etcdVersion}, ${roundCount} rounds in turn, ` +
      'NODE_EXTRA_CA_CERTS unset',
  );
  const entries = Object.entries(programs);
  const cpuTimes = entries.map((): number[] => []);
  const contestants = entries.map(([name, { args, env }], index) => ({
    name,
    measure: async () => {
      const cpuBefore = cpuMsOfEnded();
      const ms = await timeOf(args, env);
      cpuTimes[index]?.push(cpuMsOfEnded() - cpuBefore);
      return ms;
    },
  }));
  const times = await timesInTurns(contestants, roundCount);
  const timesOf = (wanted: string) => times[entries.findIndex(([name]) => name === wanted)] ?? [];
  return Object.fromEntries(
    entries.map(([name], index) => {
      const own = times[index] ?? [];
      return [
        name,
        {
          [`to ${node}`]: ratioOf(own, timesOf(node)).toFixed(2),
          ...(etcdctl in programs
            ? { [`to ${etcdctl}`]: ratioOf(own, timesOf(etcdctl)).toFixed(2) }
            : {}),
          'median ms': quantile(own, 0.5).toFixed(1),
          'fastest ms': Math.min(...own).toFixed(1),
          'p90 ms': quantile(own, 0.9).toFixed(1),
          // The mean, because of the grain.
          'CPU ms': meanOf((cpuTimes[index] ?? []).slice(-roundCount)).toFixed(0),
        },
      ];
    }),
  );
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function timeOf(
  [program = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  // Reading extra certificates would be measured instead.
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'ignore', env: { ...environment, ...env } });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve(performance.now() - startedAt);
      else reject(new Error(`${program} ${args.join(' ')} exited with ${code}`));
    });
  });
}
