// How a wait is told: as lines of a log, on a terminal, on a terminal that cannot move its cursor.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { rowsOf } from '../../../src/cli/rows.ts';
import { mayColour } from '../../../src/cli/stderr.ts';
import { TerminalLine } from '../../../src/cli/terminal-line.ts';
import { WaitNotice } from '../../../src/cli/wait-notice.ts';

const by = (key: string) => ({ key, position: 0, printAfterMs: 0, why: () => `held by ${key}` });

function noticeOn(terminal: object = {}, environment: NodeJS.ProcessEnv = {}) {
  const lines: string[] = [];
  const drawn: string[] = [];
  const notice = new WaitNotice(
    ['job'],
    600_000,
    (line, paint) => lines.push(paint(line)),
    { ...terminal, write: (text) => drawn.push(text) },
    environment,
  );
  return { notice, lines, drawn };
}

const line = (span: string, holder: string) =>
  `waiting ${span} (of 10m) for "job": 1st in the queue; held by ${holder}`;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('without a terminal', () => {
  test('a line when it begins, when the holder changes, and once a minute', () => {
    const { notice, lines } = noticeOn();
    notice.update(by('a'), 0);
    notice.update(by('a'), 10);
    vi.advanceTimersByTime(30_000);
    notice.update(by('b'), 30_000);
    vi.advanceTimersByTime(119_000);
    expect(lines).toEqual([line('0s', 'a'), line('30s', 'b'), line('1m30s', 'b')]);
    notice.end();
    vi.advanceTimersByTime(200_000);
    expect(lines).toHaveLength(3);
  });

  test('a queue that moves fast prints one line a second, of the newest holder', () => {
    const { notice, lines } = noticeOn();
    for (let at = 0; at <= 1_400; at += 100) {
      notice.update(by(`holder${at}`), at);
      vi.advanceTimersByTime(100);
    }
    expect(lines).toEqual([line('0s', 'holder100'), line('1s', 'holder1100')]);
  });

  test('a moment between two holders is no change', () => {
    const { notice, lines } = noticeOn();
    for (const key of ['a', 'a', '', 'a']) {
      notice.update(by(key), 0);
      vi.advanceTimersByTime(2_000);
    }
    expect(lines).toHaveLength(1);
  });

  test('a refused first attempt is no wait yet', () => {
    const { notice, lines } = noticeOn();
    notice.update(by('a'), 0);
    notice.end();
    expect(lines).toEqual([]);
  });
});

test('TERM=dumb: once', () => {
  const { notice, lines, drawn } = noticeOn({ isTTY: true, columns: 80 }, { TERM: 'dumb' });
  notice.update(by('a'), 0);
  notice.update(by('a'), 0);
  notice.update(by('b'), 0);
  vi.advanceTimersByTime(200_000);
  notice.end();
  expect([lines, drawn]).toEqual([[line('0s', 'a')], []]);
});

test.each<[NodeJS.ProcessEnv, boolean, boolean]>([
  [{}, false, false],
  [{ TERM: 'xterm' }, true, true],
  [{ TERM: 'dumb' }, true, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ NO_COLOR: '' }, true, true],
  [{ FORCE_COLOR: '1' }, false, true],
  [{ FORCE_COLOR: '0' }, true, false],
  [{ FORCE_COLOR: '' }, false, false],
  [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
])('%j, a terminal: %j, colours: %j', (environment, isTerminal, isColoured) => {
  expect(mayColour(isTerminal, environment)).toBe(isColoured);
});

test.each<[NodeJS.ProcessEnv, boolean]>([
  [{ TERM: 'xterm' }, false],
  [{ FORCE_COLOR: '1' }, true],
  [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false],
])('a line of a log, %j, has colours: %j', async (environment, isColoured) => {
  const { notice, lines } = noticeOn({ isTTY: true, columns: 0 }, environment);
  notice.update(by('a'), 0);
  notice.update(by('a'), 0);
  // chalk is loaded for the first line.
  if (isColoured) await import('../../../src/cli/colour.ts');
  for (let round = 0; round < 10; round += 1) await Promise.resolve();
  const [plain, head] = [line('0s', 'a'), 'waiting 0s (of 10m)'];
  expect(lines).toEqual([isColoured ? plain.replace(head, `\x1b[36m${head}\x1b[39m`) : plain]);
});

describe('on a terminal', () => {
  test('rows break between words', () => {
    const text = 'waiting 1m12s for "deploy": held by ops@web1 (pid 4711, deploy.sh) for 3m20s';
    expect(rowsOf(text, 39)).toEqual([
      'waiting 1m12s for "deploy": held by',
      'ops@web1 (pid 4711, deploy.sh) for',
      '3m20s',
    ]);
    expect(rowsOf('ab cdefgh i', 3)).toEqual(['ab', 'cdefgh', 'i']);
    expect(rowsOf('日本 日本', 8)).toEqual(['日本', '日本']);
  });

  test('nothing is written while the terminal is not ours, nor about what was there before', () => {
    const written: string[] = [];
    const output = { columns: 12, write: (text: string) => written.push(text) };
    let isOurs = true;
    const terminal = new TerminalLine(output, () => isOurs, false);
    const asIs = (row: string) => row;
    terminal.draw('one two three', asIs);
    expect(written.join('')).toContain('one two\nthree');
    written.length = 0;
    isOurs = false;
    terminal.draw('four', asIs);
    terminal.forget();
    isOurs = true;
    terminal.erase();
    expect(written).toEqual([]);
    terminal.draw('five', asIs);
    expect(written.join('')).toContain('five');
    written.length = 0;
    terminal.erase();
    expect(written.join('')).toContain('\x1b[K');
  });
});
