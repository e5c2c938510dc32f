// The cache of compiled bundles: what it keeps, and what it does not trust. Whether a cache was
// used shows in nothing but time, so these tests look at which files are written.

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { codeCacheFolder, openCodeCache } from '../../../src/programs/code-cache.ts';

const filler = `// ${'x'.repeat(5_000)}`;
let base: string;
let folder: string;
let bundle: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'redlock-code-'));
  folder = join(base, 'cache', 'code');
  bundle = join(base, 'main-1.js');
  writeFileSync(join(base, 'small.js'), 'exports.answer = 42;');
  writeFileSync(
    bundle,
    "exports.sum = () => 1 + require('./small.js').answer;\n" +
      `exports.at = () => new Error().stack;\n${filler}`,
  );
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

/** One run of the program. */
function run(): number {
  const cache = openCodeCache(folder);
  const { sum } = cache.load(bundle) as { sum(): number };
  const result = sum();
  cache.keep();
  return result;
}

/** The names in the folder, and when each file was written. */
function kept(): Record<string, number> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mtimeMs]),
  );
}

it('runs a bundle with what it requires, and tells where it is', () => {
  const cache = openCodeCache(null);
  const { sum, at } = cache.load(bundle) as { sum(): number; at(): string };
  expect(sum()).toBe(43);
  expect(at()).toContain(`${bundle}:2:`);
});

it('keeps what it compiled, for no other user, and compiles it no more', () => {
  expect(run()).toBe(43);
  const first = kept();
  expect(Object.keys(first)).toEqual([`main-1.js.${process.version}-${process.arch}`]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, Object.keys(first)[0] ?? '')).mode & 0o777).toBe(0o600);
  expect(run()).toBe(43);
  expect(kept()).toEqual(first);
});

it.each([
  ['that is broken', 0o600],
  ['that others may write to', 0o666],
])('a file %s is not used, and made anew', (_, mode) => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `main-1.js.${process.version}-${process.arch}`);
  writeFileSync(file, 'no machine code');
  chmodSync(file, mode);
  expect(run()).toBe(43);
  expect(statSync(file).size).toBeGreaterThan(100);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('a folder that others may write to is neither used nor written to', () => {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  expect(run()).toBe(43);
  expect(readdirSync(folder)).toEqual([]);
});

it('a link in the place of a file is not followed', () => {
  run();
  const [name = ''] = Object.keys(kept());
  const elsewhere = join(base, 'elsewhere');
  writeFileSync(elsewhere, 'mine');
  mkdirSync(join(base, 'other', 'code'), { recursive: true, mode: 0o700 });
  folder = join(base, 'other', 'code');
  symlinkSync(elsewhere, join(folder, name));
  expect(run()).toBe(43);
  expect(statSync(elsewhere).size).toBe(4);
});

it('a place where nothing can be kept costs nothing but time', () => {
  writeFileSync(join(base, 'cache'), 'a file');
  expect(run()).toBe(43);
  expect(existsSync(folder)).toBe(false);
});

it('makes the folder of all caches where a new user has none', () => {
  folder = join(base, '.cache', 'redlock-run', 'code');
  expect(run()).toBe(43);
  expect(Object.keys(kept())).toHaveLength(1);
  expect(statSync(join(base, '.cache')).mode & 0o777).toBe(0o700);
});

it('removes no file that it did not make, however old', () => {
  run();
  writeFileSync(join(folder, 'old'), '');
  utimesSync(join(folder, 'old'), 1, 1);
  writeFileSync(bundle, `exports.sum = () => 44;${filler}${filler}`);
  expect(run()).toBe(44);
  expect(readdirSync(folder)).toContain('old');
});

it.each(['', '/code'])(
  'a link in the place of cache%s is not followed, nor written to',
  (below) => {
    const target = join(base, 'target');
    mkdirSync(join(target, 'code'), { recursive: true, mode: 0o700 });
    if (below !== '') mkdirSync(join(base, 'cache'), { mode: 0o700 });
    symlinkSync(target, join(base, `cache${below}`));
    expect(run()).toBe(43);
    expect([readdirSync(target), readdirSync(join(target, 'code'))]).toEqual([['code'], []]);
  },
);

it.runIf(process.getuid?.() === 0)('nothing is made in a folder of another user', () => {
  chownSync(base, 65_534, 65_534);
  expect(run()).toBe(43);
  expect(readdirSync(base).sort()).toEqual(['main-1.js', 'small.js']);
  // A home directory in which there is no .cache yet.
  folder = join(base, '.cache', 'redlock-run', 'code');
  expect(run()).toBe(43);
  expect(existsSync(join(base, '.cache'))).toBe(false);
});

it.each([
  [{ XDG_CACHE_HOME: '/x', HOME: '/h' }, '/x/redlock-run/code'],
  [{ XDG_CACHE_HOME: 'relative', HOME: '/h' }, '/h/.cache/redlock-run/code'],
  [{ HOME: '/h', NODE_DISABLE_COMPILE_CACHE: '1' }, null],
  [{}, null],
])('%j keeps it in %s', (environment, expected) => {
  expect(codeCacheFolder(environment)).toBe(expected);
});
