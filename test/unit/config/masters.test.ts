// Which masters are chosen, which lists are refused, and which cause a warning.

import { describe, expect, it, test } from 'vitest';
import type { Settings } from '../../../src/config/settings.ts';
import { createScratch, failure, type Scene, settle } from './scratch.ts';

const local = ['--local'];
const three = 'redis://a,redis://b,redis://c';
const file = 'masters: [redis://f1, redis://f2, redis://f3]';
const names = (settings: Settings) => settings.masters.map((master) => master.name);

describe('masters', () => {
  test.each<[string, Scene, string[], RegExp]>([
    [
      'the file',
      { file },
      ['redis://f1:6379', 'redis://f2:6379', 'redis://f3:6379'],
      /\.redlockrc:1$/,
    ],
    [
      'the environment',
      { file, environment: { REDLOCK_MASTERS: ' e1 , e2:1,e3' } },
      ['redis://e1:6379', 'redis://e2:1', 'redis://e3:6379'],
      /^environment REDLOCK_MASTERS$/,
    ],
    [
      'flags',
      { file, environment: { REDLOCK_MASTERS: three }, flags: ['--master', 'm'] },
      ['redis://m:6379'],
      /^flag --master$/,
    ],
    [
      'flags, also with local: true in the file',
      { file: 'local: true', flags: ['--master', 'm'] },
      ['redis://m:6379'],
      /^flag/,
    ],
    [
      'flags, also with REDLOCK_LOCAL',
      { environment: { REDLOCK_LOCAL: 'true' }, flags: ['--master', 'm'] },
      ['redis://m:6379'],
      /^flag/,
    ],
    [
      'the environment before local: true',
      { file: 'local: true', environment: { REDLOCK_MASTERS: 'e' } },
      ['redis://e:6379'],
      /^environment/,
    ],
    [
      'the file, with REDLOCK_LOCAL=false',
      { file, environment: { REDLOCK_LOCAL: 'false' } },
      ['redis://f1:6379', 'redis://f2:6379', 'redis://f3:6379'],
      /rc:1$/,
    ],
  ])('come from %s', async (_, scene, expected, source) => {
    const settings = await settle(scene);
    expect(settings.local).toBe(false);
    expect(names(settings)).toEqual(expected);
    expect(settings.sources.masters).toMatch(source);
  });

  test.each<[string, Scene, RegExp]>([
    [
      '--local beats masters below',
      { file, environment: { REDLOCK_MASTERS: three }, flags: local },
      /^flag --local$/,
    ],
    [
      'REDLOCK_LOCAL beats the file',
      { file, environment: { REDLOCK_LOCAL: '1' } },
      /^environment REDLOCK_LOCAL$/,
    ],
    ['local: true', { file: 'local: true' }, /\.redlockrc:1$/],
  ])('are local: %s', async (_, scene, source) => {
    const settings = await settle(scene);
    expect(settings).toMatchObject({ local: true, masters: [] });
    expect(settings.sources.local).toMatch(source);
  });

  it('may be listed beside a local that is switched off', async () => {
    expect(
      (await settle({ environment: { REDLOCK_LOCAL: '0', REDLOCK_MASTERS: three } })).masters,
    ).toHaveLength(3);
    expect((await settle({ file: 'local: false\nmasters: [a]' })).masters).toHaveLength(1);
  });

  it('local ones may have a directory, relative to the source that names it', async () => {
    const root = createScratch({ '.redlockrc': 'local: true\nlocalDirectory: d' });
    expect((await settle({}, root, 'work/deep')).localDirectory).toBe(`${root}/d`);
    const environment = { REDLOCK_LOCAL_DIRECTORY: 'e' };
    expect((await settle({ environment }, root, 'work/deep')).localDirectory).toBe(
      `${root}/work/deep/e`,
    );
  });
});

const refused: [string, Scene, number, string][] = [
  [
    'none',
    {},
    78,
    'masters: none configured (list them as masters: in .redlockrc, or in REDLOCK_MASTERS ' +
      'or by --master',
  ],
  ['an empty list', { file: 'masters: []' }, 78, 'masters: none configured'],
  [
    'REDLOCK_LOCAL=false',
    { environment: { REDLOCK_LOCAL: 'false' }, file: 'local: true' },
    78,
    'or try --local',
  ],
  [
    '--local with --master',
    { flags: ['--local', '--master', 'a'] },
    64,
    '--local: --master: given together',
  ],
  [
    'both in the environment',
    { environment: { REDLOCK_LOCAL: 'true', REDLOCK_MASTERS: three } },
    78,
    'REDLOCK_LOCAL: given together',
  ],
  ['both in the file', { file: `${file}\nlocal: true` }, 78, '.redlockrc:2: local: given together'],
  [
    'garbage as a flag',
    { flags: ['--master', 'http://x'] },
    64,
    '--master: "http://x": unknown scheme',
  ],
  [
    'garbage in the environment',
    { environment: { REDLOCK_MASTERS: 'a,,b' } },
    78,
    'REDLOCK_MASTERS: "": no address',
  ],
  [
    'garbage in the file',
    { file: 'masters: [a, "b:x"]' },
    78,
    '.redlockrc:1: masters[1]: "b:***": not a port',
  ],
  [
    'the same twice, flags',
    { flags: ['--master', 'a', '--master', 'redis://a:6379'] },
    78,
    '--master: a:6379: listed twice',
  ],
  [
    'the same twice, database',
    { environment: { REDLOCK_MASTERS: 'redis://a/1,redis://a/2' } },
    78,
    'a:6379: listed twice',
  ],
  [
    'the same twice, user',
    { environment: { REDLOCK_MASTERS: 'redis://u:p@A,rediss://a' } },
    78,
    'a:6379: listed twice',
  ],
  [
    'the same socket twice',
    { file: 'masters: [unix:///s, "unix:///s?db=1"]' },
    78,
    '.redlockrc:1: masters[1]: unix:/s: listed twice',
  ],
  [
    'a bad REDLOCK_LOCAL',
    { environment: { REDLOCK_LOCAL: 'maybe' }, flags: local },
    78,
    'REDLOCK_LOCAL: "maybe": neither yes nor no',
  ],
];

describe('masters that will not do', () => {
  test.each(refused)('are refused: %s', async (_, scene, exitCode, message) => {
    const found = await failure(scene);
    expect(found).toMatchObject({ exitCode, message: expect.stringContaining(message) });
    expect(found.message).not.toContain('\n');
  });

  test.each([
    [1, 0],
    [2, 1],
    [3, 0],
    [4, 1],
  ])('%d of them: %d warnings', async (count, warningCount) => {
    const flags = Array.from({ length: count }, (_, index) => ['--master', `m${index}`]).flat();
    const { minorWarnings: warnings } = await settle({ flags });
    expect(warnings).toHaveLength(warningCount);
    if (count === 4)
      expect(warnings[0]).toEqual({
        kind: 'even-count',
        file: null,
        message: 'even number of masters: 4: no more may fail than of 3',
        advice: 'add one or remove one',
      });
  });
});

describe('logins', () => {
  const message =
    'a user without a password (set passwordFile, or write user:password@ or :password@)';

  test.each<[string, Scene, number]>([
    ['in a flag', { flags: ['--master', 'redis://job@a'] }, 64],
    ['in the environment', { environment: { REDLOCK_MASTERS: 'redis://job@a' } }, 78],
    ['in the file', { file: 'masters: ["redis://job@a"]' }, 78],
    ['with an empty password', { file: 'masters: ["redis://job:@a"]' }, 78],
    ['at the top of the file', { file: 'masters: [a]\nusername: job' }, 78],
  ])('of a user without a password are refused: %s', async (_, scene, exitCode) => {
    expect(await failure(scene)).toMatchObject({
      exitCode,
      message: expect.stringContaining(message),
    });
  });

  it('of a user with a password from another layer are accepted', async () => {
    const scene = { file: 'masters: ["redis://job@a"]', environment: { REDLOCK_PASSWORD: 'x' } };
    expect((await settle(scene)).masters[0]).toMatchObject({ username: 'job', password: 'x' });
  });

  it('with a password in an argument cause one warning, and elsewhere none', async () => {
    const flags = ['a', 'b', 'c'].flatMap((host) => ['--master', `redis://:s3cr3t@${host}`]);
    const told = [
      expect.stringMatching(
        /^--master: holds a password, which every user .* can see \(use passwordFile/,
      ),
    ];
    expect((await settle({ flags })).warnings).toEqual(told);
    expect((await settle({ environment: { REDLOCK_MASTERS: 'redis://:x@a' } })).warnings).toEqual(
      [],
    );
  });
});

describe('a password in a URL that is refused is not shown', () => {
  const forms = [
    'redis://s3cr3t@h:1',
    'redis://u%3As3cr3t@h:x',
    'redis://u;s3cr3t@h:x',
    'redis://s3cr3t@h:1,redis://u:s3cr3t@h',
    'redis://h:1/s3cr3t',
    'redis+sentinel://s3cr3t@h:1,h2:2/',
  ];
  const wayIn: readonly (readonly [
    name: string,
    scene: (url: string) => Scene,
    exitCode: number,
  ])[] = [
    ['a flag', (url) => ({ flags: ['--master', url] }), 64],
    ['the environment', (url) => ({ environment: { REDLOCK_MASTERS: url } }), 78],
    ['the file', (url) => ({ file: `masters:\n  - ${url}\n` }), 78],
    ['a mapping in the file', (url) => ({ file: `masters:\n  - url: ${url}\n` }), 78],
  ];

  describe.each(wayIn)('in %s', (_, scene, exitCode) => {
    test.each(forms)('%s', async (url) => {
      const found = await failure(scene(url));
      expect(found).toMatchObject({ exitCode, message: expect.stringMatching(/\*\*\*/) });
      expect(found.message).not.toContain('s3cr3t');
    });
  });

  it('nor one in the place of the user, with a password from another layer', async () => {
    const environment = { REDLOCK_MASTERS: 'redis://s3cr3t@h:1', REDLOCK_PASSWORD: 'x' };
    expect((await settle({ environment })).masters[0]?.name).toBe('redis://***@h:1');
  });
});

test('a URL of sentinels ends at the first comma after its name; it brings the grace', async () => {
  const urls = ['a', 'redis+sentinel://u:p,w@h1:1,h2:2/m', 'valkey+sentinel://h3/n/1', 'b'];
  const found = await settle({ environment: { REDLOCK_MASTERS: urls.join(',') } });
  expect(found.masters.map(({ name }) => name)).toEqual([
    'redis://a:6379',
    'redis+sentinel://***@h1:1,h2:2/m',
    'redis+sentinel://h3:26379/n/1',
    'redis://b:6379',
  ]);
  const one = await settle({ environment: { REDLOCK_MASTERS: urls[1] ?? '' } });
  expect([one.masters.length, one.restartGraceMs]).toEqual([1, 30_000]);
});

describe('messages', () => {
  test.each<[string, Scene, number, RegExp]>([
    [
      'a list',
      { flags: ['--master', 'redis://a,redis://u:s3cr3t@b'] },
      64,
      /^--master: .*: a list, and --master takes one URL \(give --master once for each\)$/,
    ],
    [
      'sentinels without a name',
      { flags: ['--master', 'redis+sentinel://h1:1,h2:2'] },
      64,
      /^--master: "redis\+sentinel:\/\/h1:1,h2:2": no \/NAME of a primary \(write redis\+sentinel/,
    ],
    [
      'sentinels without a name in the environment',
      { environment: { REDLOCK_MASTERS: 'redis+sentinel://h1:1,h2:2' } },
      78,
      /^REDLOCK_MASTERS: "redis\+sentinel:\/\/h1:1,h2:2": no \/NAME of a primary \(/,
    ],
    [
      'the same sentinels twice',
      {
        environment: {
          REDLOCK_MASTERS: 'redis+sentinel://h1:1,h2:2/m,redis+sentinel://h2:2,h1:1/m/3',
        },
      },
      78,
      /^REDLOCK_MASTERS: h1:1,h2:2\/m: listed twice/,
    ],
    ['a list of hosts', { flags: ['--master', 'a,b,c'] }, 64, /--master takes one URL/],
    [
      'a socket without //',
      { flags: ['--master', 'unix:relative'] },
      64,
      /no \/\/ after the scheme \(write /,
    ],
    [
      'a scheme without //',
      { environment: { REDLOCK_MASTERS: 'redis:/a' } },
      78,
      /no \/\/ after the scheme/,
    ],
    [
      'a bad REDLOCK_LOCAL',
      { environment: { REDLOCK_LOCAL: 'maybe', REDLOCK_MASTERS: 'a' } },
      78,
      /^REDLOCK_LOCAL: "maybe": neither yes nor no/,
    ],
  ])('%s', async (_, scene, exitCode, why) => {
    const found = await failure(scene);
    expect(found).toMatchObject({ exitCode, message: expect.stringMatching(why) });
    expect(found.message).not.toContain('s3cr3t');
  });
});
