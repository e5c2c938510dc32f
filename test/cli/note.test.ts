// Why a lock is held and where from: --note, --label and the page of the CI job, in every place
// that shows a holder. What they contain reaches no terminal as it is.

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderValue } from '../../src/lock/value.ts';
import { missedFor, runOf, took } from '../ctl/history-rig.ts';
import { ctl, forStranger, startCtl } from '../ctl/rig.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { obedient, takeBy, useMasters } from './rig.ts';

const { masters, run, start } = useMasters(3);

const url = 'https://gitlab.example.com/g/p/-/jobs/7';
const shown = `note "release \\"4.2\\"", ${url}`;
const args = ['--note', 'release "4.2"', '--label', 'nightly', 'a', '--'];
const env = { CI_JOB_URL: url };

test('a refused run, status, list, history and the report show them', async () => {
  const report = join(mkdtempSync(join(scratchFolder(), 'note-')), 'report.json');
  const holder = start(['--report', report, ...args, ...obedient()], { env });
  await holder.says('stdout', /ready/);
  const { stderr, code } = await run(['-n', 'a', '--', 'true']);
  expect(code).toBe(75);
  expect(stderr).toMatch(/^redlock-run: busy: "a": held by .+@\S+, pid \d+, nightly, since \S+, /);
  expect(stderr).toContain(shown);
  for (const verb of [['status', 'a'], ['list'], ['history', 'a']])
    expect((await ctl(masters, verb)).stdout, verb[0]).toContain(shown);
  const { locks } = JSON.parse((await ctl(masters, ['list', '--json'])).stdout);
  expect(locks[0].holders[0]).toMatchObject({ label: 'nightly', note: 'release "4.2"', url });
  const waiter = start(['-v', '-w', '20', '--note', 'to tell', 'a', '--', 'true']);
  await waiter.says('stderr', /waiting/);
  await expect
    .poll(async () => (await ctl(masters, ['status', 'a'])).stdout)
    .toMatch(/pid \d+, true, note "to tell"/);
  holder.signal('SIGTERM');
  await holder.result;
  expect(await waiter.result).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ note: 'release "4.2"', url });
  const { runs } = JSON.parse((await ctl(masters, ['history', 'a', '--json'])).stdout);
  expect(runs).toMatchObject([
    { label: 'nightly', note: 'release "4.2"', url, blocker: null },
    { outcome: 'busy', count: 1 },
    { note: 'to tell', url: null, blocker: { label: 'nightly', note: 'release "4.2"', url } },
  ]);
});

test('acquire and hold take them too; hold leaves them in the history', async () => {
  const reason = ['--note', 'release "4.2"', '--label', 'by hand'];
  const options = { env };
  for (const verb of ['acquire', 'hold']) {
    const background = verb === 'hold' ? ['--background', ...forStranger()] : [];
    const taken = await ctl(masters, [verb, verb, ...background, ...reason], options);
    expect(taken).toMatchObject({ code: 0, stderr: '' });
    const { stderr } = await run(['-n', verb, '--', 'true']);
    expect(stderr).toMatch(/pid \d+, by hand, since/);
    expect(stderr).toContain(shown);
    const token = taken.stdout.trim();
    expect(await ctl(masters, ['release', verb, '--token', token])).toMatchObject({ code: 0 });
  }
  await expect
    .poll(async () => JSON.parse((await ctl(masters, ['history', 'hold', '--json'])).stdout).runs)
    .toMatchObject(
      [
        { outcome: 'busy' },
        { outcome: 'ran', label: 'by hand', note: 'release "4.2"', url },
      ].reverse(),
    );
  const fromVariable = { env: { REDLOCK_NOTE: 'by variable' } };
  await ctl(masters, ['acquire', 'variable'], fromVariable);
  // The text leaves out what follows a long name of a host.
  expect(JSON.parse((await ctl(masters, ['list', '--json'])).stdout).locks).toMatchObject([
    { holders: [{ label: 'redlockctl', note: 'by variable' }] },
  ]);
});

test('an acquire that waits is named in the queue', async () => {
  const taken = await ctl(masters, ['acquire', 'a', '--ttl', '1m']);
  const waiter = startCtl(masters, ['acquire', 'a', '--label', 'by hand']);
  await expect
    .poll(async () => (await ctl(masters, ['status', 'a'])).stdout)
    .toMatch(/^1 .*@\S+, pid \d+, by hand$/m);
  await ctl(masters, ['release', 'a', '--token', taken.stdout.trim()]);
  expect(await waiter.result).toMatchObject({ code: 0 });
});

test('a note that a person does not see has no effect on terminals', async () => {
  const note = `\u001b[31mred\n\u202eevil redis://:hunter2@a`;
  const holder = start(['--note', note, 'a', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  expect(String(await masters[0]?.get('redlock:a'))).not.toContain('hunter2');
  const { stderr } = await run(['-n', 'a', '--', 'true']);
  expect(stderr).toContain('note " [31mred evil redis://***@a"'.replace('" ', '"'));
  holder.signal('SIGTERM');
  await holder.result;
});

/**
 * The lines that are commands: `::` at the beginning for the runner of GitHub, which skips white
 * space, and `##[` anywhere for its older commands; `##vso[` and `##[` for Azure Pipelines;
 * `##teamcity[` for TeamCity. .NET compares texts without the characters that have no width.
 */
function commandsIn(text: string): string[] {
  const seen = text.replace(/\p{DI}/gu, '').split('\n');
  return seen.filter(
    (line) => line.trimStart().startsWith('::') || /##(vso|teamcity)?\[/.test(line),
  );
}

const command = '::add-mask::a ::b ##[add-mask]c ##vso[d]e ##teamcity[f] \u200b::g #\u00ad#[h]';

/** What another client can write about itself. */
const texts = { host: command, user: command, label: command, note: command };
const hostile = { ...texts, pid: 7, since: '2026-11-21T02:00:00Z' };

test('what others write is no command of a CI system', async () => {
  const name = command;
  const folder = mkdtempSync(join(scratchFolder(), 'ci-'));
  const [report, summary] = ['report.json', 'summary.md'].map((file) => join(folder, file));
  await takeBy(renderValue('foreign', hostile), masters, name);
  await took(masters, name, '2026-11-20T02:25:00Z', runOf({ ...texts, heldMs: 1 }));
  const blocker = { token: command, record: hostile };
  await took(masters, name, '2026-11-20T02:35:00Z', missedFor(blocker, texts));
  await took(masters, name, '2026-11-20T02:45:00Z', runOf({ outcome: command, heldMs: null }));
  const words = [
    '--note',
    command,
    '--label',
    command,
    '--report',
    report ?? '',
    name,
    '--',
    'true',
  ];
  const env = { GITHUB_STEP_SUMMARY: summary ?? '' };
  const waiters = ['text', 'json'].map((format) =>
    start(['-v', '--log-format', format, ...words], { env }),
  );
  for (const waiter of waiters) await waiter.says('stderr', /waiting/);
  const outputs: string[] = [];
  for (const format of ['text', 'json'])
    outputs.push((await run(['-n', '--log-format', format, name, '--', 'true'], { env })).stderr);
  outputs.push((await run(['--dry-run', ...words])).stdout);
  const verbs = [
    ['status', name],
    ['list'],
    ['history'],
    ['history', name],
    ['check', name, '--succeeded-within', '1h'],
    ['metrics'],
    ['wait', name, '-w', '0'],
    ['acquire', name, '-n'],
    ['release', name, '--token', command],
    ['freeze', name, '--note', command],
    ['status', name],
    ['thaw', name],
    ['break', name, '--yes', '--note', command],
  ];
  for (const verb of verbs)
    for (const more of [[], ['--json']]) {
      const literal = verb.includes(name) ? ['--literal'] : [];
      const { stdout, stderr } = await ctl(masters, [...verb, ...literal, ...more]);
      outputs.push(stdout, stderr);
      if (more.length > 0 && verb[0] === 'status')
        expect(JSON.parse(stdout).locks[0].holders[0]).toMatchObject({ note: command });
    }
  for (const waiter of waiters) outputs.push((await waiter.result).stderr);
  for (const file of [report, summary]) outputs.push(readFileSync(file ?? '', 'utf8'));
  expect(commandsIn(outputs.join('\n'))).toEqual([]);
  expect(outputs.join('\n')).toContain(String.raw`\u0023#[add-mask]c`);
});
