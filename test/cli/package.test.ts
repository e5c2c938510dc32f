// The package as a user gets it: packed, installed into an empty folder, and run from there on real
// masters.

import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { noConfiguration } from '../servers/no-configuration.ts';
import { guardPackage, install, pack, withGuard } from '../servers/packed.ts';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { environmentFor, untilNothingIsLeft, useMasters } from './rig.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const { masters } = useMasters(3);
/** Where it is installed without its guard, and with it. */
let bare: string;
let prefix: string;
let files: readonly string[];

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

beforeAll(async () => {
  const packed = await pack();
  files = packed.files;
  bare = await install(packed);
  prefix = await withGuard(bare);
}, generous(40_000));

/** Runs what was installed, in a folder and with a HOME that know nothing of the checkout. */
function installed(args: string[], env: Record<string, string> = {}, name = 'redlock-run') {
  const home = mkdtempSync(join(scratchFolder(), 'home-'));
  const program = join(prefix, 'node_modules', '.bin', name);
  return run(program, args, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, ...noConfiguration, ...env },
    timeout: generous(30_000),
  });
}

test('holds the program, its licence and the example; no source, test or guard', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'bin/redlock-run.js',
      'bin/redlockctl.js',
      ...json(join(root, 'package.json')).man,
      'dist/main.js',
      'dist/library/index.js',
      'dist/library/package.json',
      'dist/library/types/index.d.ts',
      'dist/LICENSES.txt',
      'LICENSE',
      '.redlockrc.example',
    ]),
  );
  const pages = /^docs\/[\w/-]+\.(md|svg)$|^(CHANGELOG|SECURITY|CONTRIBUTING)\.md$/;
  const readme = /^((test|src\/guard)\/)?README\.md$/;
  const programs = /^bin\/|^dist\/(?!redlock-guard$)/;
  const single = /^(LICENSE|package\.json|\.redlockrc\.example|compose\.yaml)$/;
  const known = [programs, single, pages, readme];
  const others = files.filter((file) => known.every((one) => !one.test(file)));
  expect(others).toEqual([]);
});

test('holds every file and picture that its pages link to', () => {
  const links = files
    .filter((file) => file.endsWith('.md') && !file.startsWith('dist/'))
    .flatMap((page) => {
      const text = readFileSync(join(root, page), 'utf8').replace(/```[\s\S]*?```/g, '');
      const found = text.matchAll(/(?:\]\(|src(?:set)?=")(?!\w+:|#)([^)#\s"]+)/g);
      const targets = [...found].map(([, to]) => to ?? '');
      return targets.map((to) => join(dirname(page), to));
    });
  expect(links.length).toBeGreaterThan(50);
  const present = new Set(files.flatMap((file) => [file, file.replace(/\/README\.md$/, '/')]));
  expect([...new Set(links)].filter((file) => !present.has(file))).toEqual([]);
});

describe('without its guard', () => {
  const guardLine = (program: string) =>
    `${program}: guard: redlock-guard is missing: .* ` +
    `\\(npm install ${guardPackage}@[\\d.]+, .*--global .*\\)\n`;
  const local = join(scratchFolder(), 'local');
  const bin = (name: string) => join(bare, 'node_modules', '.bin', name);

  it.each([
    ['masters of its own', () => environmentFor(masters)],
    ['those of --local, of which none is started', () => ({ REDLOCK_LOCAL: 'true' })],
  ])('a run ends with 78 and says what to do: %s', async (_, where) => {
    const env = { ...process.env, REDLOCK_LOCAL_DIRECTORY: local, ...where() };
    const options = { env, timeout: generous(30_000) };
    const ended = run(bin('redlock-run'), ['job', '--', 'echo', 'ran'], options);
    const stderr = expect.stringMatching(new RegExp(`^${guardLine('redlock-run')}$`));
    await expect(ended).rejects.toMatchObject({ code: 78, stdout: '', stderr });
    expect(existsSync(local)).toBe(false);
  });

  test('doctor says it before there are any masters', async () => {
    const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...noConfiguration };
    const options = { cwd: scratchFolder(), env, timeout: generous(30_000) };
    const stderr = expect.stringMatching(
      new RegExp(`^${guardLine('redlockctl')}redlockctl: masters: none configured .*\n$`),
    );
    const ended = run(bin('redlockctl'), ['doctor'], options);
    await expect(ended).rejects.toMatchObject({ code: 78, stderr });
  });
});

test('doctor says that a command can be guarded before there are any masters', async () => {
  const env = { PATH: process.env.PATH ?? '', HOME: scratchFolder(), ...noConfiguration };
  const ended = installed(['doctor'], env, 'redlockctl');
  await expect(ended).rejects.toMatchObject({
    code: 78,
    stderr: expect.stringMatching(
      /^redlockctl: guard: a command can be guarded on this machine\nredlockctl: masters: none /,
    ),
  });
});

test('doctor starts a guard, and says why a run could not', async () => {
  const guardFound = async () => {
    const env = environmentFor(masters);
    const ended = await installed(['doctor', '--json'], env, 'redlockctl').catch((error) => error);
    const { findings } = JSON.parse(ended.stdout);
    return findings.find(({ check }: { check: string }) => check === 'guard');
  };
  expect(await guardFound()).toMatchObject({ grade: 'ok' });
  const file = join(prefix, 'node_modules', guardPackage, 'redlock-guard');
  renameSync(file, `${file}.away`);
  writeFileSync(file, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const found = await guardFound();
  renameSync(`${file}.away`, file);
  const message = expect.stringMatching(/it ended with 1/);
  expect(found).toMatchObject({ grade: 'error', message });
});

test.each([
  ['redlock-run', ['job', '--', 'true'], /^job-core-.*js$/],
  ['redlockctl', ['status', 'job'], /^status-.*js$/],
])('%s says that a part of it is missing: 78, and no bug', async (name, args, part) => {
  const dist = join(prefix, 'node_modules/redlock-run/dist');
  const file = join(dist, readdirSync(dist).find((one) => part.test(one)) ?? '');
  renameSync(file, `${file}.away`);
  const ended = await installed(args, environmentFor(masters), name).catch((error) => error);
  renameSync(`${file}.away`, file);
  const line = new RegExp(
    `^${name}: installation: Cannot find module .*\\(.* install it again\\)\n$`,
  );
  expect(ended).toMatchObject({ code: 78, stdout: '', stderr: expect.stringMatching(line) });
});

test('a run loads three bundles, and the next run compiles none of them', async () => {
  const cache = mkdtempSync(join(scratchFolder(), 'cache-'));
  const env = { ...environmentFor(masters), XDG_CACHE_HOME: cache };
  const folder = join(cache, 'redlock-run', 'code');
  const kept = () =>
    readdirSync(folder)
      .sort()
      .map((name) => [
        name.replace(/-core-.*(v\d+).*/, ' $1'),
        statSync(join(folder, name)).mtimeMs,
      ]);
  await installed(['job', '--', 'true'], env);
  const first = kept();
  const major = process.version.split('.')[0];
  expect(first.map(([name]) => name)).toEqual(
    ['guard', 'job', 'redlock-run'].map((name) => `${name} ${major}`),
  );
  await installed(['job', '--', 'true'], env);
  expect(kept()).toEqual(first);
  await installed(['status', 'job'], env, 'redlockctl').catch(() => {});
  expect(kept().map(([name]) => name)).toContain(`redlockctl ${major}`);
});

test('brings only its guard into the folder', () => {
  const present = readdirSync(join(prefix, 'node_modules'));
  expect(present.filter((name) => !name.startsWith('.'))).toEqual(['@redlock-run', 'redlock-run']);
});

test('has the licences of what is in its bundles', () => {
  const licences = readFileSync(
    join(prefix, 'node_modules', 'redlock-run', 'dist', 'LICENSES.txt'),
    'utf8',
  );
  const { devDependencies } = json(join(root, 'package.json'));
  for (const name of ['chalk', 'commander', 'execa', 'ioredis', 'string-width', 'yaml']) {
    expect(licences).toContain(`\n${name} ${devDependencies[name]} (`);
  }
});

test('says its version', async () => {
  const { version } = json(join(root, 'package.json'));
  expect((await installed(['--version'])).stdout).toBe(`redlock-run ${version}\n`);
  expect((await installed(['--version'], {}, 'redlockctl')).stdout).toBe(`redlockctl ${version}\n`);
});

test('runs a command under a lock, with a configuration file', async () => {
  const config = join(mkdtempSync(join(scratchFolder(), 'config-')), 'redlockrc');
  writeFileSync(
    config,
    `restartGrace: 0\nmasters:\n${masters.map(({ url }) => `  - ${url}\n`).join('')}`,
  );
  const args = ['--config', config, 'job', '--', 'printenv', 'REDLOCK_NAME'];
  expect(await installed(args)).toEqual({ stdout: 'job\n', stderr: '' });
  await untilNothingIsLeft(masters);
});
