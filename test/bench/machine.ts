// The machine that was measured on, and the versions of what took part. It contains no host name
// and no path.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { findServerProgram } from '../../src/local/server-program.ts';

export interface Machine {
  readonly system: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memory_GB: number;
  /** The length of the run queue in the minute before, that is, the other load. */
  readonly load: number;
  readonly versions: Readonly<Record<string, string>>;
}

export async function describeMachine(): Promise<Machine> {
  const server = findServerProgram(process.env);
  const { version: ioredis } = JSON.parse(
    readFileSync('node_modules/ioredis/package.json', 'utf8'),
  ) as {
    version: string;
  };
  return {
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memory_GB: Math.round(os.totalmem() / 1024 ** 3),
    load: Math.round((os.loadavg()[0] ?? 0) * 10) / 10,
    versions: {
      node: process.versions.node,
      ioredis,
      redis: server === null ? 'none' : versionOf(server.path, /v=(\S+)/, server.argv0),
      go: versionOf('go', /go version go(\S+)/),
      python: versionOf('python3', /Python (\S+)/),
    },
  };
}

function versionOf(program: string, pattern: RegExp, argv0 = program): string {
  const args = program === 'go' ? ['version'] : ['--version'];
  const { stdout } = spawnSync(program, args, { encoding: 'utf8', argv0, timeout: 5_000 });
  return pattern.exec(stdout ?? '')?.[1] ?? 'none';
}
