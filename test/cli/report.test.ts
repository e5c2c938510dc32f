// What --report writes, for programs: one JSON object on one line, for every way in which a run can end, and nothing else on
// any stream. And --log-format json: each line of stderr an object.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../servers/watchdog.ts';
import { environmentFor, interpreter, linesOf, node, program, takeBy, useMasters } from './rig.ts';

const { masters, run, start } = useMasters(3);

const reportFile = () => join(mkdtempSync(join(scratchFolder(), 'report-')), 'report.json');

function parse(file: string): Record<string, unknown> {
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(/^\{.*\}\n$/);
  expect(readdirSync(join(file, '..'))).toEqual(['report.json']);
  return JSON.parse(text);
}

/** Runs with a report, and returns what it says. */
async function reportOf(words: string[], env: Record<string, string> = {}) {
  const file = reportFile();
  const { stdout } = await run(['--report', file, ...words], { env });
  expect(stdout).toBe('');
  return parse(file);
}

test('every outcome, with the code or signal of the command and the status of redlock-run', async () => {
  await takeBy('them', masters, 'held');
  const none = { REDLOCK_MASTERS: 'unix:///nowhere/1,unix:///nowhere/2,unix:///nowhere/3' };
  const rows = await Promise.all([
    reportOf(['a', '--', 'true']),
    reportOf(['b', '--', 'sh', '-c', 'exit 3']),
    reportOf(['c', '--', 'sh', '-c', 'kill -KILL $$']),
    reportOf(['-n', 'held', '--', 'true']),
    reportOf(['-n', '-E', '0', 'held', '--', 'true']),
    reportOf(['-n', 'd', '--', 'true'], none),
    reportOf(['e', '--', 'there-is-no-such-program']),
    reportOf(['--max-run', '300ms', 'f', '--', 'sleep', '30']),
  ]);
  expect(rows.map(({ outcome, exitCode, signal, status }) => [outcome, exitCode, signal, status])).toEqual([
    ['ran', 0, null, 0],
    ['ran', 3, null, 3],
    ['ran', null, 'SIGKILL', 137],
    ['busy', null, null, 75],
    ['busy', null, null, 0],
    ['no-quorum', null, null, 69],
    ['not-found', null, null, 127],
    ['max-run', null, 'SIGTERM', 124],
  ]);
});

test('times, extensions, the fencing number and the masters', async () => {
  const report = await reportOf(['--ttl', '1s', 'name', '--', 'sleep', '1.5']);
  expect(report).toEqual({
    name: 'name',
    names: ['name'],
    outcome: 'ran',
    waitMs: expect.toSatisfy((ms) => Number.isInteger(ms) && ms >= 0 && ms < 5_000),
    place: null,
    runMs: expect.toSatisfy((ms) => Number.isInteger(ms) && ms >= 1_490 && ms < 3_000),
    exitCode: 0,
    signal: null,
    status: 0,
    extensions: expect.toSatisfy((count) => count >= 3 && count <= 5),
    fence: expect.toSatisfy((fence) => String(fence).length === 16),
    masters: { ok: masters.map(({ url }) => url), failed: [] },
  });
});

test('the place in the queue, when it came', async () => {
  await takeBy('them', masters, 'queue');
  const [first, second] = [reportFile(), reportFile()];
  const ahead = start(['-v', '-w', '3s', '--report', first, 'queue', '--', 'true']);
  await ahead.says('stderr', /first in line/);
  await run(['-w', '600ms', '--report', second, 'queue', '--', 'true']);
  await ahead.result;
  expect([parse(first), parse(second)]).toMatchObject([
    { outcome: 'busy', place: 1 },
    { outcome: 'busy', place: 2, waitMs: expect.toSatisfy((ms) => ms >= 600) },
  ]);
});

test('the fencing number is the one that the command was given, and grows from run to run', async () => {
  const file = reportFile();
  const fences: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const { stdout } = await run(['--report', file, 'fenced', '--', 'printenv', 'REDLOCK_FENCE']);
    expect(parse(file).fence).toBe(Number(stdout));
    fences.push(Number(stdout));
  }
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
});

test('a lost lock, with a master that failed', async () => {
  const file = reportFile();
  const job = start(['--ttl', '1200ms', '--report', file, 'lost', '--', ...node('obedient.js', '5')]);
  await job.says('stdout', /ready/);
  await masters[0]?.kill();
  for (const master of masters.slice(1)) await master.command('del', 'redlock:lost');
  await job.result;
  await masters[0]?.restart();
  const { outcome, exitCode, status, masters: seen } = parse(file);
  expect([outcome, exitCode, status]).toEqual(['lost', 5, 79]);
  expect(seen).toEqual({ ok: masters.slice(1).map(({ url }) => url), failed: [masters[0]?.url] });
});

test('a run that was told to stop while it waited', async () => {
  await takeBy('them', masters, 'held');
  const file = reportFile();
  const job = start(['-v', '--report', file, 'held', '--', 'true']);
  await job.says('stderr', /waiting/);
  job.signal('SIGTERM');
  await job.result;
  expect(parse(file)).toMatchObject({ outcome: 'signal', runMs: null, exitCode: null, signal: null, status: 143 });
});

test('an earlier report is replaced, and a device is written to', async () => {
  const file = reportFile();
  writeFileSync(file, 'something long that was there before, longer than a report is\n'.repeat(20));
  await run(['--report', file, 'name', '--', 'true']);
  expect(parse(file)).toMatchObject({ outcome: 'ran' });
  const script = '"$0" "$1" --report /dev/stderr name -- true 2>&1 >/dev/null | cat';
  const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...environmentFor(masters) };
  const { stdout } = spawnSync('sh', ['-c', script, interpreter, program], { env, encoding: 'utf8' });
  expect(JSON.parse(stdout)).toMatchObject({ outcome: 'ran' });
});

test('--log-format json: each line an object with a time, a kind, the name and the message', async () => {
  await takeBy('them', masters, 'held');
  const [ran, busy] = await Promise.all([
    run(['-v', '--log-format', 'json', 'a "b"', '--', 'true']),
    run(['-n', '--log-format', 'json', 'held', '--', 'true']),
  ]);
  const objects = linesOf(ran.stderr).map((line) => JSON.parse(line));
  const kinds = objects.map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['acquired', 'child-started', 'child-exited', 'released']));
  for (const { time, name, message } of objects) {
    expect(new Date(time).toISOString()).toBe(time);
    expect([name, typeof message]).toEqual(['a "b"', 'string']);
  }
  const [line, ...others] = linesOf(busy.stderr).map((text) => JSON.parse(text));
  expect(line).toMatchObject({ name: 'held', message: expect.stringMatching(/^busy: "held": held by/) });
  expect(others).toEqual([]);
});
