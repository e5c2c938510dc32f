// Which processes count as enclosing runs. What a nested run does: test/cli/nested.test.ts.

import { expect, test } from 'vitest';
import { holderName, isBelow, isolatedName } from '../../../src/run/enclosing-lock.ts';
import { processEntry } from '../../../src/system/process-table.ts';

const startedAt = (pid: number) => processEntry(pid)?.startedAt;

test.each([
  ['this process', holderName(), true],
  ['its parent', `${process.ppid}.${startedAt(process.ppid)}`, true],
  ['an earlier process with its pid', `${process.pid}.1`, false],
  ['a process that has ended', '99999999.1', false],
  ['an unknown one', '', false],
  ['the guard of --isolate, outside of its PID namespace', '1', false],
])('%s', (_, holder, expected) => {
  expect(isBelow(holder)).toBe(expected);
  expect(isolatedName(holder)).toBe(expected ? '1' : '');
});
