// The Lua library: what scripts.ts would leave out silently. What the scripts do is in test/redis.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { shortLua } from '../../../scripts/short-lua.js';
import { allLines } from '../../../src/ctl/master-query.ts';
import { pollMs } from '../../../src/lock/wait.ts';
import { scriptNames, scriptOf } from '../../../src/redis/calls/scripts.ts';
import { silentMs as simulatedSilentMs } from '../../sim/sim-redis.ts';

const folder = path.join(import.meta.dirname, '../../../src/redis/scripts');
const files = readdirSync(folder).map(
  (file) => [file, readFileSync(path.join(folder, file), 'utf8')] as const,
);
const library = files.map(([, text]) => text).join('');

test('each verb is a script, and each name is defined once', () => {
  const verbs = [...library.matchAll(/^function (\w+)/gm)].map(([, verb]) => verb);
  expect(verbs.sort()).toEqual([...scriptNames].sort());
  const lists = [...library.matchAll(/^local (?:function (\w+)|([\w, ]+))/gm)];
  const names = lists.flatMap(([, name, more = '']) => name ?? more.trim().split(', '));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

describe.each(files)('%s', (_, text) => {
  test('begins with what it is; comments have their own lines; at most 100 columns', () => {
    expect(text).toMatch(/^-- [A-Z]/);
    const lines = text.split('\n');
    expect(lines.filter((line) => /^ *[^ -].* -- /.test(line))).toEqual([]);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  test('ends each part that is left out before the next begins', () => {
    const marks = [...text.matchAll(/@(forms|history|end)$/gm)].map(([, mark]) => mark);
    expect(marks.filter((_, at) => at % 2 === 0)).not.toContain('end');
    expect(marks.filter((mark, at) => at % 2 === 1 && mark !== 'end')).toEqual([]);
    expect(marks.length % 2).toBe(0);
  });
});

test('numbers of the scripts agree with those of the program', () => {
  const silentMs = Number(/silentMs = (\d+)/.exec(library)?.[1]);
  expect([3 * pollMs.max, simulatedSilentMs]).toEqual([silentMs, silentMs]);
  // The simulator judges the cost of a wait by it.
  expect(pollMs.min).toBeGreaterThanOrEqual(0.85 * pollMs.max);
  const [, lineCount, factCount] = /maxLines, maxFacts = (\d+), (\d+)/.exec(library) ?? [];
  expect(allLines).toBeGreaterThan(Number(lineCount) + 2 * Number(factCount));
});

test('a script has only the functions and arguments that it needs, and late', () => {
  const { text, params } = scriptOf('extend', false, false);
  expect(params).toEqual(['value', 'ttl', 'keep', 'fence', 'mode', 'count']);
  expect(text).toMatch(/^local value, ttl, keep, fence, mode, count = unpack\(ARGV\)\n/);
  expect(text).not.toMatch(/ZRANGE|LPUSH|--/);
  const quiet = scriptOf('acquire', false, false).text;
  expect(quiet.indexOf('return granted')).toBeLessThan(quiet.indexOf('ZRANGE'));
});

test('short names: each declared name gets one of its own, and all else is as it was', () => {
  const text =
    "local function f(value, other) return redis.call('GET', value .. other) end\n" +
    'for i, one in ipairs({}) do local a, b = one.value, string.find(f, i) end';
  expect(shortLua(text)).toBe(
    'local b=redis.call\n' +
      "local function c(a,d)return b('GET',a..d)end\n" +
      'for e,f in ipairs({})do local g,h=f.a,string.find(c,e)end',
  );
});
