// The npm package under Plug'n'Play, the default of Yarn: there is no node_modules, and a loader
// finds what is in zip files. The guard cannot be executed there, so Yarn unpacks its package.

import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { environmentFor, untilNothingIsLeft, useMasters } from '../cli/rig.ts';
import { pack, packGuard } from '../servers/packed.ts';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const run = promisify(execFile);
const { masters } = useMasters(3);
let folder: string;
let yarn: (...args: string[]) => Promise<{ stdout: string; stderr: string }>;

beforeAll(async () => {
  folder = mkdtempSync(join(scratchFolder(), 'yarn-'));
  const home = mkdtempSync(join(scratchFolder(), 'home-'));
  const words = ['install', '--prefix', home, '--ignore-scripts', '@yarnpkg/cli-dist@4.18.1'];
  await run('npm', words);
  const program = join(home, 'node_modules/@yarnpkg/cli-dist/bin/yarn.js');
  const env = {
    ...process.env, // It may say how the registry is reached.
    HOME: home,
    YARN_ENABLE_GLOBAL_CACHE: '0',
    YARN_ENABLE_TELEMETRY: '0',
    ...environmentFor(masters),
  };
  yarn = (...args) => run(process.execPath, [program, ...args], { cwd: folder, env });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  writeFileSync(join(folder, 'yarn.lock'), '');
  await yarn('add', (await pack()).tarball, (await packGuard()).tarball);
}, generous(100_000));

test('a command is run and guarded', async () => {
  const { stdout } = await yarn('redlock-run', 'job', '--', 'sh', '-c', 'echo "ran $REDLOCK_NAME"');
  expect(stdout).toBe('ran job\n');
  await untilNothingIsLeft(masters);
});

test('the command has the environment of its caller', async () => {
  const { stdout } = await yarn('redlock-run', 'job', '--', 'sh', '-c', 'echo "$NODE_OPTIONS"');
  const { stdout: outside } = await yarn('exec', 'sh', '-c', 'echo "$NODE_OPTIONS"');
  expect(stdout).toBe(outside);
});

test('doctor finds that a command can be guarded', async () => {
  // It exits 78: these masters may lose a lock when they restart.
  const { stdout } = await yarn('redlockctl', 'doctor', '--json').catch((error) => error);
  const { findings } = JSON.parse(stdout);
  const guard = findings.find(({ check }: { check: string }) => check === 'guard');
  expect(guard).toMatchObject({ grade: 'ok' });
});

test('a program finds the library', async () => {
  const text = "import('redlock-run').then(({ Redlock }) => console.log(typeof Redlock))";
  expect((await yarn('node', '-e', text)).stdout).toBe('function\n');
});
