// An etcd on loopback, where this machine has one, for the comparison with `etcdctl lock`. Nothing
// is installed. It does not write to disk, which is in its favour.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../servers/ports.ts';

export interface Etcd {
  readonly version: string;
  /** The arguments that run a command under a lock. */
  lock(command: string): string[];
  /** Those that hold another lock for long, with a ttl in seconds. */
  hold(ttlSeconds: number): string[];
  stop(): Promise<void>;
}

/** null: etcd and etcdctl are not both on the PATH, or do not start. */
export async function startEtcd(): Promise<Etcd | null> {
  const { stdout, status } = spawnSync('etcdctl', ['version'], {
    encoding: 'utf8',
    env: environment,
  });
  if (status !== 0 || spawnSync('etcd', ['--version']).status !== 0) return null;
  const folder = mkdtempSync(path.join(tmpdir(), 'redlock-bench-etcd-'));
  const [client, peer] = [
    `http://127.0.0.1:${await freePort()}`,
    `http://127.0.0.1:${await freePort()}`,
  ];
  const urls = { 'listen-client-urls': client, 'advertise-client-urls': client };
  const peers = {
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
  };
  const args = Object.entries({ 'data-dir': folder, ...urls, ...peers }).flatMap(
    ([name, value]) => [`--${name}`, value],
  );
  const server = spawn('etcd', [...args, '--unsafe-no-fsync'], { stdio: 'ignore' });
  const lock = (command: string) => ['etcdctl', `--endpoints=${client}`, 'lock', 'bench', command];
  const hold = (ttlSeconds: number) => {
    const [program = '', endpoint = ''] = lock('');
    return [program, endpoint, 'lock', `--ttl=${ttlSeconds}`, 'held', 'sleep', '3600'];
  };
  const stop = async () => {
    await ended(server);
    rmSync(folder, { recursive: true, force: true });
  };
  for (let count = 0; count < 50; count += 1) {
    await sleep(100);
    const [program = '', ...rest] = lock('true');
    if (spawnSync(program, rest, { timeout: 2_000, env: environment }).status === 0) {
      return { version: /version: (\S+)/.exec(stdout)?.[1] ?? 'unknown', lock, hold, stop };
    }
  }
  await stop();
  return null;
}

const environment = { ...process.env, ETCDCTL_API: '3' };

function ended(server: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null) return resolve();
    server.once('exit', () => resolve());
    server.kill('SIGKILL');
  });
}
