// The exit status is an API: each row of its table is tested on the built program. The rows of a
// test run side by side, each under a lock of its own; no row leaves a key behind. Mistakes in a
// command line or a configuration are for cli/configuration and unit/config, signals to it for
// cli/signals.

import { closeSync, copyFileSync, mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  type CliResult,
  fixture,
  isStandalone,
  linesOf,
  obedient,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters, run, start } = useMasters(3);

type Row = readonly [
  expected: number | string,
  words: readonly string[],
  options?: Parameters<typeof run>[1],
];

/** Runs all rows at once, and compares their exit codes, or the signals that they died of. */
async function expectStatuses(rows: readonly Row[]): Promise<CliResult[]> {
  const results = await Promise.all(rows.map(([, args, options]) => run(args, options)));
  const title = (index: number) => rows[index]?.[1].join(' ');
  const seen = results.map(({ code, signal }, index) => `${title(index)}: ${code ?? signal}`);
  expect(seen).toEqual(rows.map(([expected], index) => `${title(index)}: ${expected}`));
  await untilNothingIsLeft(masters);
  return results;
}

test("the command's own, unchanged", async () => {
  const codes = [143, 255];
  const results = await expectStatuses(
    codes.map((code) => [code, [`own${code}`, '--', 'sh', '-c', `exit ${code}`]]),
  );
  for (const { stdout, stderr } of results) expect([stdout, stderr]).toEqual(['', '']);
});

test('126, when the system refuses to execute the file', async () => {
  const file = join(mkdtempSync(join(scratchFolder(), 'busy-')), 'busy');
  copyFileSync('/bin/true', file);
  const descriptor = openSync(file, 'a'); // ETXTBSY: a file that is being written.
  const [result] = await expectStatuses([[126, ['busy-file', '--', file]]]);
  closeSync(descriptor);
  expect(linesOf(result?.stderr ?? '')).toEqual([
    expect.stringMatching('cannot be executed: ETXTBSY'),
  ]);
});

test('128 + n, when the command died of signal n', async () => {
  const dieOf = (signal: string) => [signal, '--', 'sh', '-c', `kill -${signal} $$`];
  await expectStatuses([
    [137, dieOf('KILL')],
    ['SIGHUP', dieOf('HUP')],
  ]);
});

test('124, when --max-run was exceeded', async () => {
  // A shell has set its traps long before; a Node program may still be starting.
  const shell = (onTerm: string) => [
    ...['sh', '-c', `trap '${onTerm}' TERM; echo ready; while :; do sleep 0.1; done`],
  ];
  const [asked, forced] = await expectStatuses([
    [124, ['--max-run', '1s', 'max-run', '--', ...shell('echo stopped; exit 0')]],
    [124, ['--max-run', '1s', '-k', '200ms', 'stubborn', '--', ...shell('')]],
  ]);
  expect([asked?.stdout, forced?.stdout]).toEqual(['ready\nstopped\n', 'ready\n']);
  expect(forced?.stderr).toMatch(/^redlock-run: max-run: "stubborn": .* was killed .*\n$/);
});

test('126 and 127, when the command cannot be executed or is not there', async () => {
  const crlf = join(mkdtempSync(join(scratchFolder(), 'crlf-')), 'crlf');
  writeFileSync(crlf, '#!/bin/sh\r\necho ran\r\n', { mode: 0o755 });
  const results = await expectStatuses([
    [126, ['a', '--', fixture('not-executable.txt')]],
    [127, ['b', '--', 'there-is-no-such-program']],
    [127, ['c', '--', fixture('bad-interpreter.sh')]],
    [127, ['d', '--', crlf]],
  ]);
  expect(results[2]?.stderr).toMatch(
    /: its interpreter was not found: "\/nonexistent\/interpreter" \(look at its #! line and line/,
  );
  expect(results[3]?.stderr).toContain(String.raw`: its interpreter was not found: "/bin/sh\r" (`);
  // No lock was acquired, so no fencing number was minted.
  for (const master of masters) expect(await master.keys()).toEqual([]);
  for (const { stdout, stderr } of results)
    expect([stdout, linesOf(stderr)]).toEqual([
      '',
      [expect.stringMatching(/^redlock-run: command/)],
    ]);
});

test('a script without an interpreter is run by /bin/sh, as execvp does', async () => {
  const [result] = await expectStatuses([[5, ['a', '--', fixture('no-interpreter')]]]);
  expect(result?.stderr).toBe('');
});

test('64, for a wrong command line', async () => {
  const results = await expectStatuses([
    [64, []],
    [64, ['--unknown', 'name', '--', 'true']],
  ]);
  for (const { stderr } of results)
    expect(linesOf(stderr)).toEqual([expect.stringMatching(/^redlock-run: .+ \(.+\)$/)]);
});

test('69, when too few masters answer, whatever the answers are', async () => {
  const absent = ['redis://127.0.0.1:1', 'redis://127.0.0.1:2'];
  const [first] = masters;
  if (first === undefined) throw new Error('no master');
  await takeBy('them', [first], 'busy-there');
  const env = { REDLOCK_MASTERS: [first.url, ...absent].join(','), REDLOCK_GIVE_UP_AFTER: '300ms' };
  const results = await Promise.all([
    run(['-n', 'busy-there', '--', 'true'], { env }),
    run(['-w', '200ms', 'free-there', '--', 'true'], { env }),
    run(['busy-there', '--', 'true'], { env }),
  ]);
  expect(results.map(({ code }) => code)).toEqual([69, 69, 69]);
  for (const { stderr } of results)
    expect(stderr).toMatch(/^redlock-run: no quorum: .*connection refused.*\n$/);
  expect((await first.keys()).filter((key) => !/:(fence|history)$/.test(key))).toEqual([
    'redlock:busy-there',
  ]);
});

// Only Node lets a test put this fault into the program.
test.skipIf(isStandalone)('70, for a bug in the program, with the stack', async () => {
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(fixture('bug.js'))}` };
  const [result] = await expectStatuses([[70, ['name', '--', 'true'], { env }]]);
  expect(result?.stderr).toMatch(/^redlock-run: bug: .*\nError: a bug on purpose\n +at /);
});

test('75, or the code of -E, when it is held by someone else for all of the wait', async () => {
  await takeBy('them', masters, 'held');
  const results = await Promise.all([
    run(['-n', 'held', '--', 'true']),
    run(['-n', '-E', '0', 'held', '--', 'true']),
    run(['-w', '300ms', '-E', '9', 'held', '--', 'true']),
  ]);
  expect(results.map(({ code }) => code)).toEqual([75, 0, 9]);
  expect(await Promise.all(masters.map((master) => master.get('redlock:held')))).toEqual([
    'them',
    'them',
    'them',
  ]);
});

test('78, when the configuration cannot be used', async () => {
  const [first] = masters;
  const results = await expectStatuses([
    [78, ['name', '--', 'true'], { env: { REDLOCK_MASTERS: undefined } }],
    [78, ['name', '--', 'true'], { env: { REDLOCK_MASTERS: `${first?.url},${first?.url}` } }],
  ]);
  for (const { stderr } of results)
    expect(linesOf(stderr)).toEqual([expect.stringMatching(/^redlock-run: .+ \(.+\)$/)]);
});

test('79, when the lock was lost while the command ran, whatever its exit code', async () => {
  const job = start(['--ttl', '6s', 'lost', '--', ...obedient(3)]);
  await job.says('stdout', /ready/);
  for (const master of masters) await master.command('del', 'redlock:lost');
  const { code, stderr, stdout } = await job.result;
  expect(code).toBe(79);
  expect(stdout).toMatch(/stopped by SIGTERM\n$/);
  expect(stderr).toMatch(
    /^redlock-run: lost: "lost": expired: .*; the command was stopped: exit code 3\b.*\n$/,
  );
  await eventually(
    'nothing comes back',
    async () => (await masters[0]?.get('redlock:lost')) === null,
  );
});
