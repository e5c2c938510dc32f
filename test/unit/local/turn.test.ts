// The turn: one process at a time, never stuck; and what is left in the folder.

import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeTurn, turnMs } from '../../../src/local/start-missing.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'redlock-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function setAge(name: string, ageMs: number): void {
  const then = new Date(Date.now() - ageMs);
  utimesSync(join(folder, name), then, then);
}

test('one has it, the others do not; when it has ended, one has it', () => {
  const turn = takeTurn(folder);
  expect(turn?.isFresh()).toBe(true);
  expect([takeTurn(folder), takeTurn(folder)]).toEqual([null, null]);
  turn?.end();
  expect([takeTurn(folder) === null, takeTurn(folder) === null]).toEqual([false, true]);
});

test('only the highest number stays, and it is counted from', () => {
  for (let round = 0; round < 12; round += 1) takeTurn(folder)?.end();
  expect(readdirSync(folder)).toEqual(['turn.12']);
});

test.each([
  [0, false],
  [turnMs - 1_000, false],
  [turnMs + 1_000, true],
  [-turnMs - 1_000, true], // The clock was set back by an hour, say.
])('a turn that was begun %d ms ago and never ended is over: %s', (ageMs, isOver) => {
  writeFileSync(join(folder, 'turn.3'), '');
  setAge('turn.3', ageMs);
  expect(takeTurn(folder) !== null).toBe(isOver);
});

test('ending a turn that another process has taken over leaves the new one alone', () => {
  const late = takeTurn(folder);
  setAge('turn.1', turnMs + 1_000);
  const next = takeTurn(folder);
  late?.end();
  expect(next).not.toBeNull();
  expect(takeTurn(folder)).toBeNull();
  expect(readdirSync(folder)).toEqual(['turn.2']);
});
