// The peers of the benchmarks, installed on demand in exact versions by the clients of their own
// registries into a folder outside of the tree. A peer that cannot be installed here (no Go, no
// Python, no network) takes no part, and one line says so. The folder of a complete installation is
// named after its contents, so another version is another folder.

import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { once } from '../../servers/once.ts';

export const versions = {
  redlock: '4.2.0',
  '@sesamecare-oss/redlock': '1.4.0',
  'redlock-universal': '0.8.5',
  'redis-semaphore': '5.8.0',
};
const go = { redsync: '4.18.1', 'go-redis': '9.23.0' };
const pip = { 'redlock-py': '1.0.8', pottery: '3.0.1', redis: '8.1.0' };
const sources = path.resolve('test/bench/peers');

/** How to start a contestant: its arguments, without the addresses of the masters. */
export interface Installed {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** Every peer that this machine can run; `program` is program.ts, compiled. */
export function installPeers(program: string): Installed[] {
  return [
    ...attempt('npm', () => {
      const folder = installNpm();
      return Object.entries(versions).map(([name, version]) => ({
        name: `${name} ${version}`,
        args: [process.execPath, program, name, folder],
      }));
    }),
    ...attempt('go', () => {
      const source = path.join(sources, 'redsync.go');
      const folder = once(
        'bench/go',
        [...Object.values(go), readFileSync(source, 'utf8')],
        (cwd) => {
          copyFileSync(source, path.join(cwd, 'main.go'));
          run('go', ['mod', 'init', 'bench'], cwd);
          const wishes = [
            `github.com/go-redsync/redsync/v4@v${go.redsync}`,
            `github.com/redis/go-redis/v9@v${go['go-redis']}`,
          ];
          run('go', ['get', ...wishes], cwd);
          run('go', ['build', '-o', 'redsync', '.'], cwd);
        },
      );
      return [{ name: `redsync ${go.redsync} (Go)`, args: [path.join(folder, 'redsync')] }];
    }),
    ...attempt('python3', () => {
      const wishes = Object.entries(pip).map(([name, version]) => `${name}==${version}`);
      const folder = once('bench/pip', wishes, (cwd) => {
        run('python3', ['-m', 'pip', 'install', '--quiet', '--target', cwd, ...wishes], cwd);
      });
      return (['redlock-py', 'pottery'] as const).map((name) => ({
        name: `${name} ${pip[name]} (Python)`,
        args: ['python3', path.join(sources, 'cycles.py'), name],
        env: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
      }));
    }),
  ];
}

/** The folder with the npm peers in its node_modules; null where they cannot be installed. */
export function npmFolder(): string | null {
  const [folder = null] = attempt('npm', () => [installNpm()]);
  return folder;
}

function installNpm(): string {
  const manifest = readFileSync('node_modules/ioredis/package.json', 'utf8');
  const client = `ioredis@${JSON.parse(manifest).version}`;
  const wishes = [
    ...Object.entries(versions).map(([name, version]) => `${name}@${version}`),
    client,
  ];
  return once('bench/npm', wishes, (cwd) => {
    writeFileSync(path.join(cwd, 'package.json'), '{}');
    run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...wishes], cwd);
  });
}

function attempt<Peer>(toolchain: string, install: () => Peer[]): Peer[] {
  try {
    return install();
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n');
    console.log(`bench: peers that need ${toolchain} take no part: ${reason}`);
    return [];
  }
}

function run(program: string, args: readonly string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], timeout: 300_000 });
}
