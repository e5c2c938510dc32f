// What docs/operations.md shows beside its two long stories, and docs/reference.md: each command is
// run, and prints what stands there, but for times, durations, hosts, processes, tokens and fences.
// And what the page quotes of status is what it prints in that state.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, test } from 'vitest';
import { countOf, environmentFor, type TestMaster, takeBy, useMasters } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { ctl, hold } from './rig.ts';

const pages = ['operations', 'reference']
  .map((name) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'))
  .join('\n');
const rig = useMasters(3, { transport: 'tcp' });
const { masters } = rig;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(scratchFolder(), 'page-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of ['redlock-run', 'redlockctl'])
    symlinkSync(fileURLToPath(new URL(`../../bin/${name}.js`, import.meta.url)), join(bin, name));
  for (const file of [join(folder, 'deploy.sh'), join(bin, 'backup')])
    writeFileSync(file, '#!/bin/sh\ntest -e quick || exec sleep 60\n', { mode: 0o755 });
});

/** The command of a transcript, and what stands below it. */
function shown(name: string): { command: string; output: string } {
  const pattern = new RegExp(`transcript:${name} -->\\n\`\`\`console\\n\\$ (.*)\\n([^]*?)\`\`\``);
  const [, command = '', output = ''] = pattern.exec(pages) ?? [];
  expect(command).not.toBe('');
  return { command, output };
}

/** What a command prints, on stdout and stderr. */
function printed(command: string): string {
  const env = {
    ...environmentFor(masters),
    PATH: `${join(folder, 'bin')}:${join(process.execPath, '..')}:${process.env.PATH}`,
    HOME: folder,
  };
  const options = { cwd: folder, env, encoding: 'utf8', timeout: generous(20_000) } as const;
  return spawnSync('sh', ['-c', `exec 2>&1; ${command}`], options).stdout;
}

function masked(text: string): string {
  const inPage = (page: string, { url }: { url: string }, index: number) =>
    page.replaceAll(url, `redis://10.0.0.${index + 1}:6379`);
  return masters
    .reduce(inPage, text)
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+Z)?/g, 'TIME')
    .replace(/\b(?:uid )?\S+@\S+?(?=[, ])(, pid \d+| \d+)?/g, 'PERSON')
    .replace(/\b(\d+(\.\d+)?(ms|s|m|h|d))+\b/g, 'DURATION')
    .replace(/token \S+, fence \d+/g, 'TOKEN')
    .replace(/ +/g, ' ')
    .trim();
}

const held = (name: string) => expect.poll(() => countOf(masters, name)).toBe(3);

test('a note and the page of the job stand beside the holder', async () => {
  const { command, output } = shown('note');
  const job = { GITLAB_CI: 'true', CI_JOB_URL: 'https://ci.example.com/job/7' };
  const words = ['--note', 'release 4.2', 'deploy', '--', join(folder, 'deploy.sh')];
  const holder = rig.start(words, { env: job });
  await held('deploy');
  expect(masked(printed(command))).toBe(masked(output));
  holder.signal('SIGTERM');
  await holder.result;
});

test('status shows the holder, its masters and those that wait', async () => {
  const { command, output } = shown('status');
  const words = ['deploy', '--', join(folder, 'deploy.sh')];
  const runs = [rig.start(words)];
  await held('deploy');
  for (const count of [1, 2]) {
    runs.push(rig.start(words));
    const waiting = () =>
      Promise.all(masters.map((one) => one.command('zcard', '{redlock:deploy}:queue')));
    await expect.poll(waiting).toEqual([count, count, count]);
  }
  expect(masked(printed(command))).toBe(masked(output));
  for (const run of runs.toReversed()) {
    run.signal('SIGTERM');
    await run.result;
  }
});

test('a run that was killed has vanished', async () => {
  const { command, output } = shown('killed');
  const words = [
    '--ttl',
    '2s',
    '--label',
    'backup',
    'nightly-backup',
    '--',
    join(folder, 'bin/backup'),
  ];
  const run = rig.start(words);
  await held('nightly-backup');
  run.signal('SIGKILL');
  await run.result;
  await expect.poll(() => countOf(masters, 'nightly-backup')).toBe(0);
  expect(masked(printed(command))).toBe(masked(output));
});

test('a job whose last success is too long ago is overdue', async () => {
  const { command, output } = shown('overdue');
  writeFileSync(join(folder, 'quick'), '');
  expect(printed('redlock-run nightly-backup -- backup')).toBe('');
  expect(printed(command)).toBe('');
  const sooner = command.replace('25h', '10ms');
  expect(sooner).not.toBe(command);
  expect(masked(printed(sooner))).toBe(masked(output));
});

test('a lock that was overwritten by hand is lost when it is next extended', async () => {
  const { command, output } = shown('taken');
  const [, ...words] = command.split(' ');
  const [backup, started] = [join(folder, 'bin/backup'), join(folder, 'started')];
  writeFileSync(backup, `#!/bin/sh\ntouch ${started}\nexec sleep 60\n`);
  const run = rig.start([...words.slice(0, -1), backup]);
  // A key that stands is no start yet: the run may still give it back, and wait.
  await eventually('the backup runs', () => existsSync(started), 20_000);
  await takeBy('of another client', masters, 'nightly-backup');
  const { code, stderr } = await run.result;
  expect(code).toBe(79);
  expect(masked(stderr)).toBe(masked(output));
  const history = shown('taken-history');
  expect(masked(printed(history.command))).toBe(masked(history.output));
});

test('69 names each master that did not vote', async () => {
  const { command, output } = shown('unavailable');
  for (const master of masters.slice(1)) await master.kill();
  expect(masked(printed(command))).toBe(masked(output));
});

async function statusOf(env: Record<string, string> = {}): Promise<string> {
  const { stdout, stderr } = await ctl(masters, ['status', 'deploy'], { env });
  return stdout + stderr;
}
const set = (master: TestMaster | undefined, ...words: string[]) =>
  master?.command('set', 'redlock:deploy', ...words);

/** What is printed in the state of each entry of the list, in their order. */
const entries: readonly (() => Promise<string> | string)[] = [
  async () => {
    await hold(masters, 'deploy');
    return statusOf();
  },
  () => '', // It quotes nothing.
  async () => {
    printed('redlock-run --hold-at-least 1m deploy -- true');
    return (await statusOf()) + printed('redlock-run -n deploy -- true');
  },
  async () => {
    for (const master of masters) await set(master, 'of another program');
    return statusOf();
  },
  async () => {
    for (const [at, master] of masters.entries()) await set(master, `${at}`, 'px', '60000');
    return statusOf();
  },
  async () => {
    await set(masters[0], 'left', 'px', '60000');
    return statusOf();
  },
  async () => {
    const graced = { REDLOCK_RESTART_GRACE: '30m' };
    const unmarked = await statusOf(graced);
    for (const master of masters) await master.markLongAgo('redlock:');
    return unmarked + (await statusOf(graced));
  },
  async () => {
    await masters[0]?.kill();
    await masters[1]?.freeze();
    const output = await statusOf();
    masters[1]?.thaw();
    await masters[0]?.restart();
    return output;
  },
  () => statusOf(),
];

/** What an entry quotes, without the commands; `...` stands for the rest of a line. */
function quotedIn(entry: string): string[] {
  return [...entry.matchAll(/`([^`]+)`/g)]
    .map(([, text = '']) => text.replace(/\s+/g, ' ').replace(/,? ?\.\.\.$/, ''))
    .filter((text) => !/^redlock/.test(text));
}

test('what the page quotes of status is what it prints in that state', async () => {
  const [, list = ''] = /`status` says one of([\s\S]*?)\n###? /.exec(pages) ?? [];
  const quotes = list.split('\n- ').slice(1).map(quotedIn);
  expect(quotes).toHaveLength(entries.length);
  const comparable = (text: string) => masked(text).replace(/\d+ s\b/g, 'DURATION');
  for (const [at, print] of entries.entries()) {
    for (const master of masters) await master.flush();
    const output = comparable(await print());
    const missing = quotes[at]?.filter((quote) => !output.includes(comparable(quote)));
    expect({ entry: at + 1, missing, output }).toMatchObject({ missing: [] });
  }
});
