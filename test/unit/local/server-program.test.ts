// Which program is taken for a server, by what lies where. The files are empty: nothing is run.

import { chmodSync, lchownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findServerProgram } from '../../../src/local/server-program.ts';

const root = mkdtempSync(join(tmpdir(), 'redlock-test-'));
afterAll(() => rmSync(root, { recursive: true }));

let count = 0;

/** PATH has the folders /a and /b with these files; one that ends in - cannot be executed. */
function machine(...files: string[]) {
  count += 1;
  const at = (path: string) => join(root, String(count), path);
  for (const folder of [
    'a',
    'b',
    'home/.cache/redlock-run/redis-server/bin',
    'home/.cache/redlock-run/redis-server/lib',
    'xdg/redlock-run/redis-server/bin',
    'xdg/redlock-run/redis-server/lib',
  ]) {
    mkdirSync(at(folder), { recursive: true });
  }
  for (const file of files) {
    writeFileSync(at(file.replace(/-$/, '')), '');
    chmodSync(at(file.replace(/-$/, '')), file.endsWith('-') ? 0o644 : 0o755);
  }
  return { at, environment: { PATH: `${at('a')}:${at('b')}:a:`, HOME: at('home') } };
}

const cached = 'home/.cache/redlock-run/redis-server/bin/redis-server';

test.each([
  [['b/redis-server', 'a/valkey-server'], 'b/redis-server', 'redis-server'],
  [['a/redis-check-rdb', 'b/valkey-server'], 'b/valkey-server', 'valkey-server'],
  [['a/redis-check-rdb', 'a/redis-server-'], 'a/redis-check-rdb', 'redis-server'],
  [['a/valkey-check-rdb', cached], 'a/valkey-check-rdb', 'valkey-server'],
])('of %j it is %s, called %s', async (files, path, argv0) => {
  const { at, environment } = machine(...files);
  expect(findServerProgram(environment)).toEqual({ path: at(path), argv0, environment: {} });
});

test('without one on the PATH it is the copy in the cache, with its libraries', async () => {
  const { at, environment } = machine(cached);
  const lib = at('home/.cache/redlock-run/redis-server/lib');
  const expected = {
    path: at(cached),
    argv0: 'redis-server',
    environment: { LD_LIBRARY_PATH: lib },
  };
  expect(findServerProgram(environment)).toEqual(expected);
  expect(findServerProgram({ ...environment, XDG_CACHE_HOME: 'relative' })).toEqual(expected);
});

test('the cache is where XDG_CACHE_HOME says', async () => {
  const { at, environment } = machine('xdg/redlock-run/redis-server/bin/redis-server', cached);
  const found = findServerProgram({ ...environment, XDG_CACHE_HOME: at('xdg') });
  expect(found?.path).toBe(at('xdg/redlock-run/redis-server/bin/redis-server'));
});

test.each(['home', 'home/.cache', 'home/.cache/redlock-run/redis-server/lib', cached])(
  'not where every user can write to %s',
  async (path) => {
    const { at, environment } = machine(cached);
    chmodSync(at(path), 0o777);
    expect(findServerProgram(environment)).toBeNull();
  },
);

test.runIf(process.getuid?.() === 0).each(['home', 'home/.cache/redlock-run', cached])(
  'not where a group of other users can write to %s',
  async (path) => {
    const { at, environment } = machine(cached);
    chmodSync(at(path), 0o775);
    // A private group, as useradd(8) makes it, has no other member.
    expect(findServerProgram(environment)).not.toBeNull();
    lchownSync(at(path), 0, 12_345);
    expect(findServerProgram(environment)).toBeNull();
  },
);

test.runIf(process.getuid?.() === 0).each(['home', 'home/.cache/redlock-run', cached])(
  'not where another user has %s, as under sudo with the HOME of that user',
  async (path) => {
    const { at, environment } = machine(cached);
    lchownSync(at(path), 12_345, 12_345);
    expect(findServerProgram(environment)).toBeNull();
  },
);

test('none: null, and null without a PATH', async () => {
  const { environment } = machine();
  expect(findServerProgram(environment)).toBeNull();
  expect(findServerProgram({ HOME: environment.HOME })).toBeNull();
});
