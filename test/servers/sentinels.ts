// A real set of sentinels that watch one primary, for a test file. They end with the test process,
// and stopSentinels() ends them before.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { TestMaster } from './master.ts';
import { freePort } from './ports.ts';
import { eventually } from './processes.ts';
import { serverProgram } from './program.ts';
import { dieWithUs, forget, scratchFolder } from './watchdog.ts';

const started: { readonly process: ChildProcess; readonly directory: string }[] = [];
let count = 0;

export interface Sentinels {
  readonly ports: readonly number[];
  /** Resolves with the port of the primary that the first sentinel names. */
  primaryPort(): Promise<number>;
  /** Promotes a replica, as an operator does. Resolves when every sentinel names it. */
  failOver(): Promise<void>;
}

/** So many sentinels that know each other and watch `primary` under the name `mymaster`. */
export async function startSentinels(
  primary: TestMaster,
  howMany: number,
  settings: readonly string[] = [],
): Promise<Sentinels> {
  const ports = await Promise.all(Array.from({ length: howMany }, () => freePort()));
  const { port } = new URL(primary.url);
  for (const own of ports) await startOne(own, Number(port), Math.floor(howMany / 2) + 1, settings);
  const ask = (...args: string[]) => command(ports[0] ?? 0, 'sentinel', ...args);
  await eventually(
    'the sentinels know each other and the replicas',
    async () => {
      const replicas = (await ask('replicas', 'mymaster')) as unknown[];
      const others = await Promise.all(
        ports.map((own) => command(own, 'sentinel', 'sentinels', 'mymaster') as Promise<unknown[]>),
      );
      return replicas.length > 0 && others.every((list) => list.length === howMany - 1);
    },
    20_000,
  );
  const primaryPorts = () =>
    Promise.all(
      ports.map(async (own) => {
        const reply = await command(own, 'sentinel', 'get-master-addr-by-name', 'mymaster');
        return Number((reply as string[])[1]);
      }),
    );
  const primaryPort = async () => (await primaryPorts())[0] as number;
  return {
    ports,
    primaryPort,
    failOver: async () => {
      const before = await primaryPort();
      await eventually(
        'a failover begins',
        () =>
          ask('failover', 'mymaster').then(
            () => true,
            () => false,
          ),
        20_000,
      );
      // The one that was asked names the new primary first; what most of them name counts.
      const isOver = async () => (await primaryPorts()).every((port) => port !== before);
      await eventually('a failover', isOver, 20_000);
    },
  };
}

/** Ends every sentinel of this file. For afterAll. */
export async function stopSentinels(): Promise<void> {
  await Promise.all(
    started.splice(0).map(async ({ process: sentinel, directory }) => {
      const ended = new Promise((resolve) => sentinel.once('exit', resolve));
      if (sentinel.exitCode === null && sentinel.kill('SIGKILL')) await ended;
      rmSync(directory, { recursive: true, force: true });
    }),
  );
}

async function startOne(
  port: number,
  primaryPort: number,
  quorum: number,
  settings: readonly string[],
): Promise<void> {
  const program = await serverProgram();
  count += 1;
  const directory = join(scratchFolder(), `sentinel${count}`);
  mkdirSync(directory);
  const file = join(directory, 'conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor mymaster 127.0.0.1 ${primaryPort} ${quorum}`,
    'sentinel down-after-milliseconds mymaster 1000',
    'sentinel failover-timeout mymaster 3000',
    ...settings,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const sentinel = spawn(program.path, [file, '--sentinel'], {
    argv0: program.argv0,
    env: program.environment,
    stdio: 'ignore',
  });
  const { pid } = sentinel;
  if (pid === undefined) throw new Error('a sentinel did not start');
  dieWithUs(pid);
  sentinel.once('exit', () => forget(pid));
  started.push({ process: sentinel, directory });
  await eventually('a sentinel answers', () => command(port, 'ping').catch(() => null));
}

async function command(port: number, name: string, ...args: string[]): Promise<unknown> {
  const client = new Redis({
    port,
    retryStrategy: () => null,
    lazyConnect: true,
    enableReadyCheck: false,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}
