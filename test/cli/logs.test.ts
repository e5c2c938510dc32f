// Logs that join those of others: the id of a trace, levels for the journal, the summary of a step.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  environmentFor,
  giveWayTo,
  interpreter,
  linesOf,
  program,
  takeBy,
  useMasters,
} from './rig.ts';

const { masters, run, start } = useMasters(3);
const newFile = () => join(mkdtempSync(join(scratchFolder(), 'logs-')), 'file');
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

test('TRACEPARENT: its traceId in all JSON lines and in the report', async () => {
  const [report, env] = [newFile(), { TRACEPARENT: `00-${traceId}-00f067aa0ba902b7-01` }];
  const args = ['-v', '--log-format', 'json', '--report', report, 'a', '--', 'true'];
  const lines = linesOf((await run(args, { env })).stderr).map((line) => JSON.parse(line));
  expect(new Set(lines.map((line) => line.traceId))).toEqual(new Set([traceId]));
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ traceId, note: null });
});

/** What redlock-run writes to a file that it takes for the journal, or for another one. */
async function journalOf(args: string[], inode: (ino: number) => number): Promise<string[]> {
  const file = newFile();
  const fd = openSync(file, 'a');
  const { dev, ino } = fstatSync(fd);
  const env = {
    PATH: process.env.PATH,
    HOME: scratchFolder(),
    ...environmentFor(masters),
    JOURNAL_STREAM: `${dev}:${inode(ino)}`,
  };
  const child = spawn(interpreter, [program, ...args].filter(Boolean), {
    stdio: ['ignore', 'ignore', fd],
    env,
  });
  await new Promise((resolve) => child.once('exit', resolve));
  closeSync(fd);
  return linesOf(readFileSync(file, 'utf8'));
}

describe('the journal', () => {
  const here = (ino: number) => ino;

  test('lines have levels', async () => {
    await takeBy('theirs', masters, 'held');
    expect((await journalOf(['-v', 'a', '--', 'true'], here))[0]).toMatch(/^<6>redlock-run: /);
    expect(await journalOf(['-n', 'held', '--', 'true'], here)).toEqual([
      expect.stringMatching(/^<4>redlock-run: busy: /),
    ]);
    expect(await journalOf(['a', '--', 'no-such-command'], here)).toEqual([
      expect.stringMatching(/^<3>redlock-run: command: /),
    ]);
    expect(await journalOf(['--ttl', 'x', 'a', '--', 'true'], here)).toEqual([
      expect.stringMatching(/^<3>redlock-run: --ttl: /),
    ]);
  });

  test('not where stderr is something else', async () => {
    const lines = await journalOf(['a', '--', 'no-such-command'], (ino) => ino + 1);
    expect(lines).toEqual([expect.stringMatching(/^redlock-run: command: /)]);
  });
});

describe('GITHUB_STEP_SUMMARY', () => {
  test('a line for a run that waited or was refused, and none for another one', async () => {
    const file = newFile();
    const env = { GITHUB_STEP_SUMMARY: file };
    await run(['a', '--', 'true'], { env });
    expect(existsSync(file)).toBe(false);
    await takeBy('the`irs <b>', masters, 'a');
    await run(['-n', 'a', '--', 'true'], { env });
    const waiter = start(['a', '--', 'true'], { env });
    await giveWayTo(waiter, masters, 'a');
    await waiter.result;
    expect(linesOf(readFileSync(file, 'utf8'))).toEqual([
      expect.stringMatching(
        /^- redlock-run `a`: .* for `another program \(value the'irs <b>\)`, did not.* busy$/,
      ),
      expect.stringMatching(/^- redlock-run `a`: .* for `another .*`, ran \S+: ran$/),
    ]);
  });

  test('a file that cannot be written changes nothing', async () => {
    await takeBy('theirs', masters, 'a');
    const env = { GITHUB_STEP_SUMMARY: '/nonexistent/file' };
    const waiter = start(['a', '--', 'true'], { env });
    await giveWayTo(waiter, masters, 'a');
    expect(await waiter.result).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^redlock-run: waiting \d+s .*\n$/),
    });
  });
});
