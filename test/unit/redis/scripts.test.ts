// The files of the Lua scripts: what scripts.ts leaves out silently is in no file. What the
// scripts do is in test/redis.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { allLines } from '../../../src/ctl/master-query.ts';
import { pollMs } from '../../../src/lock/wait.ts';
import { plainScripts, scripts } from '../../../src/redis/calls/scripts.ts';
import { silentMs as simulatedSilentMs } from '../../sim/sim-redis.ts';

const folder = path.join(import.meta.dirname, '../../../src/redis/scripts');
const files = new Map(
  readdirSync(folder).map((file) => [
    file.replace(/\.lua$/, ''),
    readFileSync(path.join(folder, file), 'utf8'),
  ]),
);
const includedBy = (text: string) =>
  [...text.matchAll(/@include (\S+)\.lua$/gm)].map(([, part = '']) => part);

test('each file is a script or a part of one, and parts include nothing', () => {
  const names = Object.keys(scripts);
  const parts = [...new Set(names.flatMap((name) => includedBy(files.get(name) ?? '')))];
  expect([...files.keys()].sort()).toEqual([...names, ...parts].sort());
  expect(parts.filter((part) => files.get(part)?.includes('@include'))).toEqual([]);
});

describe.each([...files])('%s.lua', (_, text) => {
  test('begins with what it is; comments have their own lines; at most 100 columns', () => {
    expect(text).toMatch(/^-- [A-Z]/);
    expect(
      text.split('\n').filter((line) => / --/.test(line.trim()) && !line.trim().startsWith('--')),
    ).toEqual([]);
    expect(text.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });

  test('ends each part that is left out before the next begins', () => {
    const marks = [...text.matchAll(/@(forms|history|end)$/gm)].map(([, mark]) => mark);
    expect(marks.filter((_, at) => at % 2 === 0)).not.toContain('end');
    expect(marks.filter((mark, at) => at % 2 === 1 && mark !== 'end')).toEqual([]);
    expect(marks.length % 2).toBe(0);
  });
});

test('numbers of the scripts agree with those of the program', () => {
  const silentMs = Number(/silentMs = (\d+)/.exec(files.get('silence') ?? '')?.[1]);
  expect([3 * pollMs.most, simulatedSilentMs]).toEqual([silentMs, silentMs]);
  // The simulator judges the cost of a wait by it.
  expect(pollMs.least).toBeGreaterThanOrEqual(0.85 * pollMs.most);
  const sizes = /mostLines, mostFacts = (\d+), (\d+)/.exec(files.get('lines') ?? '') ?? [];
  const [lineCount, factCount] = sizes.slice(1).map(Number);
  expect(allLines).toBeGreaterThan((lineCount ?? Number.NaN) + 2 * (factCount ?? Number.NaN));
});

test('what is sent for an exclusive claim is a part of the whole', () => {
  for (const name of ['acquire', 'extend', 'repair', 'release'] as const) {
    const whole = scripts[name].split('\n');
    let at = -1;
    for (const line of plainScripts[name].split('\n')) {
      at = whole.indexOf(line, at + 1);
      expect(at, line).toBeGreaterThanOrEqual(0);
    }
    expect(plainScripts[name].length).toBeLessThan(whole.join('\n').length);
  }
});
