// The settings from words, environment and files: each value, its source, and every refused value.

import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import {
  environmentName,
  fieldOf,
  keyRow,
  keyTable,
  optionTable,
  settingKeys,
} from '../../../src/config/setting-table.ts';
import type { Settings } from '../../../src/config/settings.ts';
import type { kinds } from '../../../src/config/values.ts';
import { defaultOptions, defaultRetries } from '../../../src/library/options.ts';
import { claimFor } from '../../../src/programs/job-lock.ts';
import { defaultHistoryBytes } from '../../../src/redis/calls/script-calls.ts';
import { createScratch, failure, type Scene, settle } from './scratch.ts';

const local = ['--local'];

describe('defaults', () => {
  it('are those of the contract', async () => {
    expect(await settle({ flags: local })).toEqual({
      names: ['job'],
      command: ['true'],
      masters: [],
      local: true,
      localDirectory: null,
      prefix: 'redlock:',
      ttlMs: 30_000,
      masterTimeoutMs: 1_500,
      graceMs: 5_000,
      marginMs: 1_000,
      reserveMs: 6_000,
      extendEveryMs: 10_000,
      giveUpAfterMs: 10_000,
      waitMs: null,
      retries: null,
      retryCount: null,
      retryDelayMs: 200,
      retryJitterMs: 0,
      isShared: false,
      slotCount: null,
      isSuperseded: false,
      isReplaced: false,
      conflictExitCode: 75,
      jitterMs: 0,
      stopSignal: 'SIGTERM',
      holdAtLeastMs: 0,
      holdOn: 'always',
      maxWaiters: null,
      notify: null,
      maxRunMs: null,
      restartGraceMs: 0,
      differingMasters: 'warn',
      driftFactor: 0.01,
      isFenced: true,
      isReentrant: false,
      protocol: 'redlock',
      enclosing: null,
      hasHistory: true,
      historyBytes: 67_108_864,
      note: null,
      label: null,
      url: null,
      traceId: null,
      onLost: null,
      foreground: null,
      keepsBackground: false,
      isIsolated: false,
      reportFile: null,
      verbosity: 'normal',
      logFormat: 'text',
      configFile: null,
      sources: expect.objectContaining({
        local: 'flag --local',
        ttl: 'default',
        killAfter: 'default',
      }),
      minorWarnings: [],
      warnings: [],
    });
  });

  it('are those of the library', async () => {
    const settings = await settle({ flags: [...local, '--retry-count', '1'] });
    const { prefix, differingMasters, waitMs, giveUpAfterMs, fence } = defaultOptions;
    const expected = { prefix, differingMasters, waitMs, giveUpAfterMs, isFenced: fence };
    expect(settings).toMatchObject({ ...expected, historyBytes: defaultHistoryBytes });
    expect(settings.retries).toMatchObject(defaultRetries);
  });
});

const variables = `
  MASTERS LOCAL LOCAL_DIRECTORY PREFIX PROTOCOL TTL MASTER_TIMEOUT GIVE_UP_AFTER KILL_AFTER
  SIGNAL WAIT CONFLICT_EXIT_CODE RETRY_COUNT RETRY_DELAY RETRY_JITTER JITTER HOLD_AT_LEAST
  HOLD_ON SHARED SLOTS SUPERSEDE REPLACE MAX_WAITERS MAX_RUN RESTART_GRACE DIFFERING_MASTERS
  FENCING HISTORY HISTORY_BYTES NOTE LABEL REENTRANT ON_LOST NOTIFY FOREGROUND
  KEEP_BACKGROUND ISOLATE LOG_FORMAT USERNAME PASSWORD PASSWORD_FILE PASSWORD_COMMAND
  PASSWORD_TTL
`;

it('each key but tls has a variable in capitals', () => {
  const keys = keyTable.map(({ key }) => key).filter((key) => key !== 'tls');
  const names = variables.trim().split(/\s+/);
  expect(keys.map(environmentName).toSorted()).toEqual(
    names.map((name) => `REDLOCK_${name}`).toSorted(),
  );
});

/** By kind: what the flag, the variable and the file say, and what each of that means. */
const samples: Record<keyof typeof kinds, [string, string, string, unknown[]]> = {
  duration: ['1', '2s', '3', [1_000, 2_000, 3_000]],
  span: ['100ms', '200ms', '300ms', [100, 200, 300]],
  ttl: ['41', '42s', '43', [41_000, 42_000, 43_000]],
  wait: ['forever', '2', '0', [null, 2_000, 0]],
  limit: ['none', '2', '3', [null, 2_000, 3_000]],
  count: ['0', '2', '3', [0, 2, 3]],
  slots: ['2', '3', '4', [2, 3, 4]],
  status: ['0', '255', '3', [0, 255, 3]],
  bytes: ['1MB', '2MB', '1GB', [1_048_576, 2_097_152, 1_073_741_824]],
  signal: ['INT', 'sighup', '9', ['SIGINT', 'SIGHUP', 'SIGKILL']],
  boolean: ['', 'true', 'false', [true, true, false]],
  holdOn: ['success', 'always', 'success', ['success', 'always', 'success']],
  reaction: ['warn', 'error', 'ignore', ['warn', 'error', 'ignore']],
  format: ['text', 'json', 'json', ['text', 'json', 'json']],
  protocol: ['redlock', 'setnx', 'setnx-ms', ['redlock', 'setnx', 'setnx-ms']],
  text: ['f:', 'e:', '"c:"', ['f:', 'e:', 'c:']],
  note: ['a\n\tb', 'c', 'd', ['a b', 'c', 'd']],
  path: ['/a', '/b', '/c', ['/a', '/b', '/c']],
};

/** These are about one master, and have no effect on the local ones. */
const mastersFor = (key: string) =>
  ['restartGrace', 'protocol'].includes(key) ? ['--master', 'm1'] : local;

it.each([
  [['--no-fence'], 'isFenced', false],
  [['--no-history'], 'hasHistory', false],
  [['--reentrant'], 'isReentrant', true],
  [['--foreground'], 'foreground', true],
  [['--no-foreground'], 'foreground', false],
  [['--keep-background'], 'keepsBackground', true],
  [['--isolate'], 'isIsolated', true],
] as const)('%s sets %s to %s', async (flags, field, value) => {
  expect((await settle({ flags: [...local, ...flags] }))[field]).toBe(value);
});

it.each([
  [1, 0],
  [2, 0],
  [3, 30_000],
  [5, 30_000],
])('gives %i masters a restart grace of %i ms', async (count, graceMs) => {
  const flags = Array.from({ length: count }, (_, index) => ['--master', `m${index}`]).flat();
  expect((await settle({ flags })).restartGraceMs).toBe(graceMs);
});

it.each([
  ['a flag', { flags: local }, /^flag --local$/],
  ['the file', { file: 'local: true\n' }, /\/work\/\.redlockrc:1$/],
])('gives local masters, by %s, none where one is set', async (_, scene, source) => {
  const settings = await settle({ ...scene, environment: { REDLOCK_RESTART_GRACE: '10m' } });
  expect(settings.restartGraceMs).toBe(0);
  expect(settings.sources.restartGrace).toMatch(source);
});

describe.each(settingKeys.filter((key) => key !== 'local'))('%s', (key) => {
  const kind = keyRow(key).kind as keyof typeof kinds;
  const [flag, variable, line, [fromFlag, fromVariable, fromFile]] = samples[kind];
  const row = optionTable.find((one) => one.key === key && one.argument !== undefined);
  const option = row?.long ?? null;
  const field = fieldOf(key) as keyof Settings;
  const file = `${key}: ${line}\n`;
  const environment = { [environmentName(key)]: variable };
  const masters = mastersFor(key);
  const isText = ['text', 'note', 'path'].includes(kind);

  it('comes from the file', async () => {
    const settings = await settle({ flags: masters, file });
    expect(settings[field]).toBe(fromFile);
    expect(settings.sources[key]).toMatch(/\/work\/\.redlockrc:1$/);
  });

  it('comes from the environment before the file', async () => {
    const settings = await settle({ flags: masters, file, environment });
    expect(settings[field]).toBe(fromVariable);
    expect(settings.sources[key]).toBe(`environment ${environmentName(key)}`);
  });

  it('takes an empty variable as no prefix, or as unset', async () => {
    const empty = { [environmentName(key)]: '' };
    const settings = await settle({ flags: masters, file, environment: empty });
    expect(settings[field]).toBe(key === 'prefix' ? '' : fromFile);
  });

  if (option !== null)
    it('comes from the flag before all', async () => {
      const settings = await settle({ flags: [...masters, option, flag], file, environment });
      expect(settings[field]).toBe(fromFlag);
      expect(settings.sources[key]).toBe(`flag ${option}`);
    });

  if (option !== null && !isText)
    it('is refused with 64 as a flag', async () => {
      const found = await failure({ flags: [...masters, option, 'potatoes'] });
      expect(found).toMatchObject({ name: 'UsageError', exitCode: 64 });
      expect(found.message).toMatch(new RegExp(`^${option}: "potatoes": .* \\(write .*\\)$`));
    });

  if (!isText)
    it('is refused with 78 in the environment, also when a flag hides it', async () => {
      const flags = option === null ? masters : [...masters, option, flag];
      const found = await failure({ flags, environment: { [environmentName(key)]: 'potatoes' } });
      expect(found).toMatchObject({ name: 'ConfigError', exitCode: 78 });
      expect(found.message).toMatch(new RegExp(`^${environmentName(key)}: "potatoes": `));
    });

  if (!isText)
    it('is refused with 78 in the file', async () => {
      const found = await failure({ flags: masters, file: `\n${key}: potatoes` });
      expect(found).toMatchObject({ name: 'ConfigError', exitCode: 78 });
      expect(found.message).toContain(`~/work/.redlockrc:2: ${key}: "potatoes": `);
    });
});

it.each(['potatoes', '100000', '25h'])('--ttl %s is refused inside of a run too', async (ttl) => {
  const environment = { REDLOCK_HELD: 'job', REDLOCK_HELD_LEASES: 'T:7:30000' };
  const flags = [...local, '--reentrant', '--ttl', ttl];
  expect(await failure({ flags, environment })).toMatchObject({
    name: 'UsageError',
    message: expect.stringContaining(`--ttl: "${ttl}": `),
  });
});

describe('values that contradict each other are named where they were given', () => {
  const [slots, setnx] = ['slots: 2', 'protocol: setnx'];
  const REDLOCK_MASTERS = 'redis://a';

  it.each<[string[], Record<string, string>, string, number, string]>([
    [['--isolate', '--keep-background'], {}, '', 64, '--isolate: with --keep-background: '],
    [['--isolate'], {}, 'keepBackground: true', 64, '--isolate: with FILE:1: keepBackground: '],
    [
      [],
      { REDLOCK_ISOLATE: 'true' },
      'keepBackground: true',
      78,
      'REDLOCK_ISOLATE: with FILE:1: keepBackground: ',
    ],
    [[], {}, `shared: true\n${slots}`, 78, 'FILE:2: slots: with FILE:1: shared: '],
    [['b'], {}, slots, 64, 'FILE:1: slots: with several NAMEs: '],
    [[], {}, 'ttl: 5\nkillAfter: 5', 78, 'FILE:1: ttl: with FILE:2: killAfter: ttl 5s, '],
    [['--ttl', '5s'], {}, 'killAfter: 5', 64, '--ttl: with FILE:1: killAfter: ttl 5s, '],
    [[], {}, `${setnx}\nshared: true`, 78, 'FILE:1: protocol: with FILE:2: shared: setnx '],
    [[], {}, `${setnx}\nsupersede: true`, 78, 'FILE:1: protocol: with FILE:2: supersede: '],
    [[], {}, `${setnx}\nreplace: true`, 78, 'FILE:1: protocol: with FILE:2: replace: '],
    [[], {}, `${setnx}\n${slots}`, 78, 'FILE:1: protocol: with FILE:2: slots: '],
    [
      [],
      { REDLOCK_PROTOCOL: 'setnx', REDLOCK_SHARED: '1' },
      '',
      78,
      'REDLOCK_PROTOCOL: with REDLOCK_SHARED: ',
    ],
    [['--replace'], {}, setnx, 64, 'FILE:1: protocol: with --replace: '],
    [['b'], {}, setnx, 64, 'FILE:1: protocol: with several NAMEs: '],
  ])('%j %j %j: %i', async (flags, environment, file, exitCode, message) => {
    const found = await failure({ flags, environment: { REDLOCK_MASTERS, ...environment }, file });
    const shown = found.message.replaceAll('~/work/.redlockrc', 'FILE');
    expect([found, shown]).toEqual([
      expect.objectContaining({ exitCode }),
      expect.stringContaining(message),
    ]);
    expect(shown).toMatch(/ \((leave one out|raise ttl.*)\)$/);
  });
});

describe('single values', () => {
  test.each<[string[], Partial<Settings>]>([
    [['-n'], { waitMs: 0 }],
    [['-w', '0.5'], { waitMs: 500 }],
    [['-n', '-E', '0'], { conflictExitCode: 0 }],
    [['--max-run', '0'], { maxRunMs: null }],
    [['-k', '0'], { graceMs: 0 }],
    [['--prefix', ''], { prefix: '' }],
    [['--signal', 'SIGUSR1'], { stopSignal: 'SIGUSR1' }],
    [['--signal', 'kill'], { stopSignal: 'SIGKILL' }],
    [['--signal', '6'], { stopSignal: 'SIGABRT' }],
    [['--ttl', '24h'], { ttlMs: 86_400_000 }],
    [['-q'], { verbosity: 'quiet' }],
    [['-v'], { verbosity: 'verbose' }],
  ])('%j', async (flags, expected) =>
    expect(await settle({ flags: [...local, ...flags] })).toMatchObject(expected),
  );

  test.each([
    [['--ttl', '0'], '--ttl: "0": must be more than 0'],
    [['--ttl', '-5s'], '--ttl: "-5s": not a duration'],
    [
      ['--ttl', '24h1ms'],
      '--ttl: "24h1ms": after a crash the lock would stay held for more than 24h',
    ],
    [
      ['--ttl', '99999999999999999999s'],
      '--ttl: "99999999999999999999s": after a crash the lock would stay held for more than 24h',
    ],
    [
      ['-w', '99999999999999999999s'],
      '--wait: "99999999999999999999s": too long a duration (at most 24d20h',
    ],
    [['--ttl', '30d'], '--ttl: "30d": after a crash the lock would stay held'],
    [['-w', '25d'], '--wait: "25d": too long a duration (at most 24d20h31m23.647s)'],
    [['--max-run', '25d'], '--max-run: "25d": too long a duration'],
    [['-E', '256'], '--conflict-exit-code: "256": not an exit status'],
    [['-E', '600'], '--conflict-exit-code: "600": not an exit status'],
    [['-E', '-1'], '--conflict-exit-code: "-1": not an exit status'],
    [['-E', '1.5'], '--conflict-exit-code: "1.5": not an exit status'],
    [['-E', ''], '--conflict-exit-code: "": not an exit status'],
    [['--signal', 'STOP'], '--signal: "STOP": does not end a process'],
    [['--signal', 'sigcont'], '--signal: "sigcont": does not end a process'],
    [['--signal', '19'], '--signal: "19": does not end a process'],
    [['--signal', '0'], '--signal: "0": not a signal'],
    [['--signal', '99'], '--signal: "99": not a signal'],
    [['--signal', 'toString'], '--signal: "toString": not a signal'],
    [['--log-format', 'JSON'], '--log-format: "JSON": not a log format (write text or json)'],
    [['--report', ''], '--report: "": empty'],
  ])('%j is refused', async (flags, message) => {
    const found = await failure({ flags: [...local, ...flags], file: '' });
    expect(found).toMatchObject({
      name: 'UsageError',
      exitCode: 64,
      message: expect.stringContaining(message),
    });
  });

  it.each([
    ['.', '".": is a directory'],
    ['deep/', '"deep/": is a directory'],
    ['no/such/file', '"~/work/no/such": no such directory'],
    ['.redlockrc/file', '"~/work/.redlockrc": not a directory'],
  ])('--report %s cannot be written', async (report, message) => {
    const found = await failure({ flags: [...local, '--report', report], file: '' });
    expect(found).toMatchObject({
      name: 'OutputError',
      exitCode: 74,
      message: expect.stringContaining(`--report: ${message}`),
    });
  });

  it.skipIf(process.getuid?.() === 0)(
    'a report in a directory that may not be written is refused',
    async () => {
      const root = createScratch();
      chmodSync(join(root, 'work/deep'), 0o500);
      const found = settle({ flags: [...local, '--report', 'deep/r'] }, root);
      await expect(found).rejects.toThrow(/^--report: ".*deep": permission denied \(/);
    },
  );

  it('a report goes to an absolute path', async () => {
    const root = createScratch();
    expect((await settle({ flags: [...local, '--report', 'deep/r.json'] }, root)).reportFile).toBe(
      `${root}/work/deep/r.json`,
    );
    expect((await settle({ flags: [...local, '--report', '/dev/null'] }, root)).reportFile).toBe(
      '/dev/null',
    );
  });
});

describe('several holders', () => {
  it.each([
    [['--slots', '2'], { sharing: { kind: 'slots', slotCount: 2 }, preemptible: 'never' }],
    [['--slots', '1'], { sharing: { kind: 'exclusive' } }],
    [['--slots', '1', '-s'], { sharing: { kind: 'shared' } }],
    [['--supersede'], { preemptible: 'supersede' }],
    [['--supersede', '--replace'], { preemptible: 'replace' }],
  ])('%j', async (flags, expected) => {
    expect(claimFor(await settle({ flags: [...local, ...flags] }))).toMatchObject(expected);
  });

  it.each([
    [['--slots', '0'], '"0": not a number of slots (write a number from 1 to 1000)'],
    [['--slots', '1001'], '"1001": not a number of slots'],
    [['--slots', '2.5'], '"2.5": not a number of slots'],
    [['--slots', '2', '--shared'], '--slots: with --shared: a shared lock has no limit of holders'],
    [['--slots', '2', 'another'], '--slots: with several NAMEs: slots are for one name'],
  ])('%j is refused', async (flags, message) => {
    await expect(settle({ flags: [...local, ...flags] })).rejects.toThrow(message);
  });
});

describe('retries, a count of attempts instead of a wait', () => {
  const retries = { count: 3, delayMs: 200, jitterMs: 0 };

  it('have pauses of their own', async () => {
    const flags = [...local, '--retry-count', '3', '--retry-delay', '1s', '--retry-jitter', '50ms'];
    expect((await settle({ flags })).retries).toEqual({ count: 3, delayMs: 1_000, jitterMs: 50 });
  });

  it.each([
    [{ REDLOCK_RETRY_COUNT: '3', REDLOCK_WAIT: '5s' }, [], retries],
    [{ REDLOCK_RETRY_COUNT: '3' }, ['--wait', '5s'], null],
    [{ REDLOCK_RETRY_COUNT: '3' }, ['-n'], null],
    [{ REDLOCK_WAIT: '5s' }, ['--retry-count', '3'], retries],
  ] as const)(
    '%j and %j: what was said closer to the command counts',
    async (environment, flags, expected) => {
      expect((await settle({ environment, flags: [...local, ...flags] })).retries).toEqual(
        expected,
      );
    },
  );

  it.each([
    [
      ['--retry-count', '3', '-w', '1s'],
      '--retry-count: with --wait: contradict each other (leave one out)',
    ],
    [
      ['--retry-count', '3', '-n'],
      '--retry-count: with --nonblock: contradict each other (leave one out)',
    ],
    [['--retry-count', '-1'], '"-1": not a count (write 3)'],
    [['--retry-count', '1.5'], '"1.5": not a count (write 3)'],
  ])('%j is refused', async (flags, message) => {
    await expect(settle({ flags: [...local, ...flags] })).rejects.toThrow(message);
  });
});

describe('what is accepted with a warning', () => {
  const warningsOf = async (scene: Scene) =>
    (await settle({ ...scene, flags: [...local, ...(scene.flags ?? [])] })).warnings;

  test.each<[string, Scene, string[]]>([
    [
      'a bare ttl of an hour or more',
      { flags: ['--ttl', '30000'] },
      ['--ttl: "30000": 8h20m, since a bare number is seconds (write 30000ms if '],
    ],
    [
      'the same in the environment',
      { environment: { REDLOCK_TTL: '3600' } },
      ['REDLOCK_TTL: "3600": 1h, since'],
    ],
    [
      'the same in the file',
      { file: 'ttl: 10000' },
      ['~/work/.redlockrc:1: ttl: "10000": 2h46m40s, since'],
    ],
    ['nothing else', { flags: ['--ttl', '3599'], environment: { REDLOCK_TTL: '10000' } }, []],
    [
      'a second name that is a program',
      { flags: ['k1', 'sh'] },
      ['NAME: "sh": taken for a second NAME, and is a program too (write -- before COMMAND'],
    ],
    ['a first name that is one', { flags: ['sh'] }, []],
    [
      'several names without --',
      { words: ['db-a', 'db-b', 'sh'] },
      ['NAME: "db-b": taken for COMMAND, since there is no -- (write NAME NAME -- COMMAND for'],
    ],
    ['a command with a program as its argument', { words: ['job', 'sh', 'sh'] }, []],
    ['a command that is none, after --', { words: ['job', '--', 'db-b', 'sh'] }, []],
    ['a ttl with a unit', { flags: ['--ttl', '2h'] }, []],
    [
      'a variable that is nearly a setting',
      { environment: { REDLOCK_TLL: '3s' } },
      ['REDLOCK_TLL: not a setting (did you mean REDLOCK_TTL?)'],
    ],
    [
      'two letters off',
      { environment: { REDLOCK_MASTER_TIMOUTS: '3s' } },
      ['REDLOCK_MASTER_TIMOUTS: not a setting (did you mean REDLOCK_MASTER_TIMEOUT?)'],
    ],
    [
      'no config',
      { environment: { REDLOCK_CONFG: '' } },
      ['REDLOCK_CONFG: not a setting (did you mean REDLOCK_CONFIG?)'],
    ],
    [
      'what Kubernetes, a command and people set',
      {
        environment: {
          REDLOCK_PORT: 'tcp://10.0.0.1:80',
          REDLOCK_SERVICE_HOST: '10.0.0.1',
          REDLOCK_PORT_6379_TCP_ADDR: '10.0.0.1',
          REDLOCK_STAGE: 'x',
          REDLOCK_TTL_MS: '30000',
          REDLOCK_HELD: 'a',
          REDLOCK_NAME: 'a',
          REDLOCK_FENCE: '1',
          REDLOCK_SLOT: '1',
          REDLOCK_LOST: 'taken',
          REDLOCK_EVENT: 'lost',
          REDLOCK_OUTCOME: 'lost',
          REDLOCK_STATUS: '79',
          REDLOCK_WAIT_MS: '3',
          REDLOCK_RUN_MS: '3',
          REDLOCK_BY: 'ops@web1 (pid 4711)',
        },
      },
      [],
    ],
  ])('%s', async (_, scene, expected) => {
    const warnings = (await warningsOf(scene)).map((line) =>
      line.replace(/\S*\/work\//, '~/work/'),
    );
    expect(warnings).toEqual(expected.map((part) => expect.stringContaining(part)));
  });

  it('takes the signal of a hook for no stop signal', async () => {
    const stopSignal = async (environment: Record<string, string>) =>
      (await settle({ flags: local, environment })).stopSignal;
    expect(await stopSignal({ REDLOCK_SIGNAL: 'SIGKILL' })).toBe('SIGKILL');
    const inHook = { REDLOCK_SIGNAL: 'SIGKILL', REDLOCK_EVENT: 'released' };
    expect(await stopSignal(inHook)).toBe('SIGTERM');
  });

  it('takes the ttl of the enclosing run, with that run as its source', async () => {
    const environment = {
      REDLOCK_HELD: 'job',
      REDLOCK_HELD_LEASES: 'T:1:9000',
      REDLOCK_REENTRANT: 'true',
    };
    const { ttlMs, sources } = await settle({ flags: local, environment });
    expect([ttlMs, sources.ttl]).toEqual([9_000, 'the enclosing run']);
  });
});
