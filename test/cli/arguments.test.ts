// The arguments of the command and the names of locks: every byte arrives unchanged. What the
// kernel gives to no program (a NUL, an argument of a mebibyte) is not tested.

import { expect, test } from 'vitest';
import { interpreter, linesOf, node, obedient, program, useMasters } from './rig.ts';

const { masters, run, start } = useMasters(3);

const strange = [
  '',
  ' ',
  '  a  b ',
  '"',
  "'",
  '\\',
  '$HOME',
  '`id`',
  '*',
  '|',
  '>x',
  'a\nb',
  '\t',
  '🔒',
  'ñ',
  '-v',
  '-',
  '--',
];
const options = [
  '--ttl',
  '--ttl=1s',
  '-n',
  '--help',
  '--version',
  '--',
  '--local',
  '--unknown',
  '-E',
  '0',
  '-c',
  '-k9',
];

test('everything after -- reaches the command byte for byte, and no shell', async () => {
  const args = [...strange, ...options, 'x'.repeat(100_000)];
  const { code, stdout, stderr } = await run([
    '-n',
    'name',
    '--',
    ...node('print-argv.js'),
    ...args,
  ]);
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual(args);
});

test('a name may hold spaces, quotes, line breaks, emoji and braces', async () => {
  const names = [` a  "it's"\n🔒*\\ `, '{a},{b}%20', 'n'.repeat(4096)];
  const results = await Promise.all(
    names.map((name) => run(['-n', name, '--', ...node('print-env.js')])),
  );
  expect(results.map(({ stdout }) => JSON.parse(stdout).REDLOCK_NAME)).toEqual(names);
  const ofAll = ['{redlock:}:names:history', '{redlock:}:size:history'];
  const staying = names
    .flatMap((name) =>
      ['fence', 'runs:history', 'facts:history'].map((key) => `{redlock:${name}}:${key}`),
    )
    .concat(ofAll)
    .sort();
  for (const master of masters) expect(await master.keys()).toEqual(staying);
});

test('the key is the prefix and the name, byte for byte', async () => {
  const name = 'a b\n🔒"';
  const jobs = [
    start(['-n', '--prefix', '', name, '--', ...obedient()]),
    start(['-n', '--prefix', 'p 🔑:', name, '--', ...obedient()]),
  ];
  for (const job of jobs) await job.says('stdout', /ready/);
  const keys = (await masters[0]?.keys())?.filter((key) => !/:(fence|history)$/.test(key)).sort();
  expect(keys).toEqual([name, `p 🔑:${name}`].sort());
  for (const job of jobs) job.signal('SIGTERM');
  await Promise.all(jobs.map((job) => job.result));
});

test('a name is quoted on one line of a message, whatever it holds', async () => {
  const name = 'a\n\u001b[31m\u202eb';
  for (const master of masters)
    await master.command('set', `redlock:${name}`, 'v\u001b[31m\nw', 'px', 60_000);
  const { code, stderr } = await run(['-n', name, '--', 'true']);
  expect(code).toBe(75);
  expect(linesOf(stderr)).toHaveLength(1);
  expect(stderr.trimEnd()).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
});

test('the environment names the lock, and in a nested run the inner one', async () => {
  const inner = [interpreter, program, 'inner, one', '--', ...node('print-env.js')];
  const { stdout, stderr } = await run(['--ttl', '10s', 'outer', '--', ...inner]);
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({
    REDLOCK_NAME: 'inner, one',
    REDLOCK_HELD: 'outer,inner%2C%20one',
    REDLOCK_TTL_MS: '30000',
    REDLOCK_TOKEN: expect.stringMatching(/^[\w-]{27}$/),
    REDLOCK_FENCE: expect.stringMatching(/^\d{16}$/),
  });
});
