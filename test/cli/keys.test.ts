// Each configuration key in each program that has it, seen by what is done on real masters and with
// real commands, and not by what was parsed. A key without a row fails. What a value may be, and
// which source wins, is in test/unit/config.

import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type OptionValues, readOptionValues } from '../../src/config/arguments.ts';
import { environmentName, keyTable, tlsKeys } from '../../src/config/setting-table.ts';
import { readSettings } from '../../src/ctl/settings.ts';
import { ctl as call } from '../ctl/rig.ts';
import { startMasters } from '../servers/masters.ts';
import { pemFile } from '../servers/pem.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import { type CliResult, type CliRun, type RunOptions, startCli } from '../servers/run-cli.ts';
import { tlsFront } from '../servers/tls.ts';
import { usersOf } from '../servers/used-sets.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  countOf,
  environmentFor,
  fileWith,
  linesOf,
  type TestMaster,
  takeBy,
  useMasters,
} from './rig.ts';

const { masters } = useMasters(3);
const [run, ctl] = ['redlock-run', 'redlockctl'] as const;
type Program = typeof run | typeof ctl;
type Values = Readonly<Record<string, string | undefined>>;

/** The variables that set these keys. */
function variablesOf(values: Values): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [environmentName(key as never), value]),
  );
}

/** Starts the program with these keys set. */
function start(program: Program, values: Values, args: readonly string[], more: RunOptions = {}) {
  const env = { ...environmentFor(masters), ...variablesOf(values) };
  return startCli(args, { ...more, program, env });
}

/** What comes of that; redlockctl is called in this process. */
function resultOf(program: Program, values: Values, args: readonly string[]): Promise<CliResult> {
  return program === run
    ? start(run, values, args).result
    : call(masters, args, { env: variablesOf(values) });
}

const jobOf = (values: Values, ...args: string[]) => start(run, values, args);
const ended = (values: Values, ...args: string[]) => jobOf(values, ...args).result;
const told = (values: Values, ...args: string[]) => resultOf(ctl, values, args);
const shell = (script: string) => ['--', '/bin/sh', '-c', script];
const fileOf = (name: string) => join(mkdtempSync(join(scratchFolder(), 'keys-')), name);
const first = () => masters[0] as TestMaster;
/** What the first master shows: a command begins before the last master has answered. */
const shownOn = (key = 'redlock:a') => eventually(`${key} is set`, () => first().get(key));
const nowhere = 'unix:///nonexistent/redlock.sock';

/** Looks while the command of a run is running, and resolves with its result. */
async function during(values: Values, look: (job: CliRun) => unknown, ...flags: string[]) {
  const job = start(run, values, [...flags, 'a', '--', '/bin/sh', '-c', 'echo in; cat'], {
    stdin: 'pipe',
  });
  await job.says('stdout', /in/);
  await look(job);
  job.child.stdin?.end();
  return job.result;
}

/** Is there still after a time that the default would have left it; then it is ended. */
async function goesOn(job: CliRun): Promise<void> {
  await sleep(1_500);
  expect([job.hasEnded, job.stdout]).toEqual([false, '']);
  job.signal('SIGTERM');
  expect(await job.result).toMatchObject({ signal: 'SIGTERM' });
}

const acquired = async (values: Values, ...flags: string[]) => {
  const { code, stdout, stderr } = await told(values, 'acquire', 'a', '--json', ...flags);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
};
const reportOf = async (values: Values, ...args: string[]) => {
  const file = fileOf('report');
  await ended(values, '--report', file, ...args);
  return JSON.parse(readFileSync(file, 'utf8'));
};

/** A history of another lock, on masters whose histories seem to take 2.5 MB. */
async function olderHistory(): Promise<() => Promise<boolean>> {
  await ended({}, 'old', '--', 'true');
  const size = (await first().keys()).find((key) => key.endsWith(':size:history')) ?? '';
  await first().command('set', size, 40_000);
  return async () => (await first().keys()).some((key) => /\{redlock:old\}:runs/.test(key));
}

/** Servers that only `job` with the password `first` may use. */
async function closed(): Promise<string> {
  const user = ['job', 'on', '>first', '~*', '&*', '+@all'];
  const [master] = (await startMasters(1, { config: { user } })) as [TestMaster];
  await master.command('acl', 'setuser', 'default', 'resetkeys', '-@all', '+client|kill');
  return master.url;
}
const login = async (more: Values) => ({ masters: await closed(), username: 'job', ...more });

/** What both programs do alike: a lock is acquired, or status is asked, over these masters. */
const works = async (program: Program, values: Values) => {
  const args = program === run ? ['-w', '2s', 'a', '--', 'true'] : ['status', 'a'];
  expect(await resultOf(program, values, args)).toMatchObject({ code: 0 });
};
const refused = async (program: Program, values: Values) => {
  const args = program === run ? ['-n', 'a', '--', 'true'] : ['status', 'a'];
  expect((await resultOf(program, values, args)).code).not.toBe(0);
};
const both = (see: (program: Program) => Promise<unknown>) => ({
  [run]: () => see(run),
  [ctl]: () => see(ctl),
});

/** Local masters are ended with the test: the files of their pids name them. */
async function localMasters(): Promise<Values> {
  const localDirectory = join(mkdtempSync(join(scratchFolder(), 'l')), 'm');
  onTestFinished(() => {
    const names = existsSync(localDirectory) ? readdirSync(localDirectory) : [];
    for (const name of names.filter((one) => one.endsWith('.pid'))) {
      const pid = Number(readFileSync(join(localDirectory, name), 'utf8'));
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    }
  });
  return { masters: undefined, local: 'true', localDirectory };
}

async function frozenMajority(args: readonly string[], program: Program, values: Values) {
  const frozen = masters.slice(0, 2);
  for (const master of frozen) await master.freeze();
  const result = await resultOf(program, values, args);
  for (const master of frozen) master.thaw();
  return result;
}

const silence = async (program: Program) => {
  const args = program === run ? ['-n', 'a', '--', 'true'] : ['status', 'a'];
  const { code, stdout, stderr } = await frozenMajority(args, program, { masterTimeout: '321ms' });
  expect([code, stdout + stderr]).toEqual([69, expect.stringContaining('321')]);
};

/** Both programs over TLS, to a server that asks for a certificate; then with another value. */
const overTls = (key: (typeof tlsKeys)[number], other: string) =>
  both(async (program) => {
    const port = await tlsFront(first().url.replace('unix://', ''), {
      requiredVersion: 'TLSv1.3',
    });
    const values = {
      masters: `rediss://127.0.0.1:${port}`,
      caFile: pemFile('ca.pem'),
      certFile: pemFile('client.pem'),
      keyFile: pemFile('client.key'),
      servername: 'localhost',
    };
    await works(program, values);
    await refused(program, { ...values, [key]: other });
  });

type See = () => Promise<unknown>;

const rows: Readonly<Record<string, Partial<Record<Program, See>>>> = {
  masters: {
    [run]: () =>
      during({ masters: masters[1]?.url }, async () => {
        const counts = [await countOf([first()], 'a'), await countOf(masters.slice(1, 2), 'a')];
        expect(counts).toEqual([0, 1]);
      }),
    [ctl]: async () => {
      await takeBy('x', masters.slice(1, 2), 'a');
      const { stdout } = await told({ masters: masters[1]?.url }, 'status', 'a', '--json');
      expect(JSON.parse(stdout).locks[0]).toMatchObject({ state: 'held', masters: 1 });
    },
  },
  local: both(async (program) => {
    const local = await localMasters();
    const start = await told(local, 'local', 'start');
    expect(start.code).toBe(0);
    await works(program, local);
  }),
  localDirectory: both(async (program) => {
    const local = await localMasters();
    if (program === ctl) await told(local, 'local', 'start');
    await works(program, local);
    expect(readdirSync(local.localDirectory ?? '').length).toBeGreaterThan(0);
  }),
  prefix: {
    [run]: () =>
      during({ prefix: 'p:' }, async () => expect(await shownOn('p:a')).toMatch(/^\S{27} /)),
    [ctl]: async () => {
      await acquired({ prefix: 'p:' });
      expect(await shownOn('p:a')).toMatch(/^\S{27} /);
    },
  },
  protocol: {
    [run]: () =>
      during({ protocol: 'setnx', masters: first().url }, async () =>
        expect(await shownOn()).toMatch(/^\d{10}$/),
      ),
    [ctl]: async () => {
      await acquired({ protocol: 'setnx', masters: first().url });
      expect(await shownOn()).toMatch(/^\d{10}$/);
    },
  },
  ttl: {
    [run]: () =>
      during({ ttl: '77s' }, async () =>
        expect(await first().command('pttl', 'redlock:a')).toBeGreaterThan(45_000),
      ),
    [ctl]: async () => expect(await acquired({ ttl: '77s' })).toMatchObject({ ttlMs: 77_000 }),
  },
  masterTimeout: both(silence),
  giveUpAfter: {
    [run]: async () => {
      const report = await reportOf({ giveUpAfter: '10ms', masters: nowhere }, 'a', '--', 'true');
      expect(report).toMatchObject({
        outcome: 'no-quorum',
        waitMs: expect.toSatisfy(isBelow(8e3)),
      });
    },
    [ctl]: async () => {
      const { code, elapsedMs } = await told(
        { giveUpAfter: '10ms', masters: nowhere },
        'acquire',
        'a',
      );
      expect([code, isBelow(9_500)(elapsedMs)]).toEqual([69, true]);
    },
  },
  killAfter: {
    [run]: async () => {
      const values = { killAfter: '100ms', maxRun: '100ms' };
      const report = await reportOf(
        values,
        'a',
        ...shell('trap "" TERM; sleep 60 & wait; sleep 60'),
      );
      expect(report).toMatchObject({ outcome: 'max-run', runMs: expect.toSatisfy(isBelow(4e3)) });
    },
  },
  signal: {
    [run]: async () => {
      const script = 'trap "echo got; exit 3" USR1; while :; do sleep 0.1; done';
      const { stdout } = await ended({ signal: 'USR1', maxRun: '2s' }, 'a', ...shell(script));
      expect(stdout).toBe('got\n');
    },
  },
  wait: both(async (program) => {
    await takeBy('x', masters, 'a');
    const args = program === run ? ['a', '--', 'true'] : ['acquire', 'a'];
    expect(await resultOf(program, { wait: '0' }, args)).toMatchObject({ code: 75 });
  }),
  conflictExitCode: both(async (program) => {
    await takeBy('x', masters, 'a');
    const args = program === run ? ['-n', 'a', '--', 'true'] : ['acquire', '-n', 'a'];
    expect(await resultOf(program, { conflictExitCode: '7' }, args)).toMatchObject({ code: 7 });
  }),
  retryCount: {
    [run]: async () => {
      await takeBy('x', masters, 'a');
      expect(await ended({ retryCount: '1' }, 'a', '--', 'true')).toMatchObject({ code: 75 });
    },
  },
  retryDelay: {
    [run]: async () => {
      await takeBy('x', masters, 'a');
      const report = await reportOf({ retryCount: '1', retryDelay: '3s' }, 'a', '--', 'true');
      expect(report.waitMs).toBeGreaterThanOrEqual(3_000);
    },
  },
  retryJitter: {
    [run]: async () => {
      await takeBy('x', masters, 'a');
      await goesOn(jobOf({ retryCount: '1', retryJitter: '24h' }, 'a', '--', 'echo', 'ran'));
    },
  },
  jitter: { [run]: () => goesOn(jobOf({ jitter: '24h' }, 'a', '--', 'echo', 'ran')) },
  holdAtLeast: {
    [run]: async () => {
      await ended({ holdAtLeast: '1m' }, 'a', '--', 'true');
      await shownOn();
    },
  },
  holdOn: {
    [run]: async () => {
      await ended({ holdAtLeast: '1m', holdOn: 'success' }, 'a', '--', 'false');
      await expect.poll(() => first().get('redlock:a')).toBeNull();
    },
  },
  shared: {
    [run]: () => during({ shared: 'true' }, async () => expect(await shownOn()).toBe('shared')),
    [ctl]: async () => {
      await acquired({ shared: 'true' });
      expect(await shownOn()).toBe('shared');
    },
  },
  slots: {
    [run]: () => during({ slots: '3' }, async () => expect(await shownOn()).toBe('slots 3')),
  },
  supersede: {
    [run]: async () => {
      await takeBy('x', masters, 'a');
      const older = jobOf({ supersede: 'true' }, 'a', '--', 'echo', 'ran');
      await older.says('stderr', /waiting .*1st in the queue/);
      const newer = jobOf({ supersede: 'true' }, 'a', '--', 'echo', 'ran');
      expect(await older.result).toMatchObject({ code: 75, stdout: '' });
      newer.signal('SIGTERM');
      await newer.result;
    },
  },
  replace: {
    [run]: async () => {
      const holder = jobOf({ replace: 'true' }, 'a', ...shell('echo in; sleep 60'));
      await holder.says('stdout', /in/);
      const newer = await ended({ replace: 'true' }, 'a', '--', 'echo', 'ran');
      expect([(await holder.result).code, newer.stdout]).toEqual([79, 'ran\n']);
    },
  },
  maxWaiters: {
    [run]: async () => {
      await takeBy('x', masters, 'a');
      expect(await ended({ maxWaiters: '0' }, 'a', '--', 'true')).toMatchObject({ code: 75 });
    },
  },
  maxRun: {
    [run]: async () =>
      expect(await ended({ maxRun: '200ms' }, 'a', '--', 'sleep', '60')).toMatchObject({
        code: 124,
      }),
  },
  restartGrace: both(async (program) => {
    const argsOf = (name: string) =>
      program === run ? ['-n', name, '--', 'true'] : ['acquire', '-n', name];
    // A name each: the third master may not have read yet that the first attempt is taken back.
    for (const [name, urls] of Object.entries({ a: undefined, b: first().url })) {
      const values = { ...(urls ? { masters: urls } : {}), restartGrace: '24h' };
      const { code, stderr } = await resultOf(program, values, argsOf(name));
      expect([code, stderr]).toEqual([69, expect.stringMatching(/restarted|grace/)]);
    }
    const local = { ...(await localMasters()), restartGrace: '24h' };
    expect(await told(local, 'local', 'start')).toMatchObject({ code: 0 });
    expect(await resultOf(program, local, argsOf('a'))).toMatchObject({ code: 0 });
  }),
  differingMasters: both(async (program) => {
    const set = await startMasters(3, { persist: true, transport: 'tcp' });
    for (const master of set) await master.markLongAgo('redlock:');
    const ours = { ttl: '3s', killAfter: '200ms', restartGrace: '30s' };
    await during({ ...ours, masters: set.map(({ url }) => url).join(',') }, () =>
      eventually('a set beside each mark', async () => !(await usersOf(set)).includes(null)),
    );
    const values = { ...ours, masters: set[0]?.url, differingMasters: 'error' };
    const args = program === run ? ['-n', 'a', '--', 'true'] : ['acquire', '-n', 'a'];
    expect(await resultOf(program, values, args)).toMatchObject({ code: 78 });
  }),
  fencing: {
    [run]: async () =>
      expect(
        await ended({ fencing: 'false' }, 'a', ...shell('echo "fence $REDLOCK_FENCE"')),
      ).toMatchObject({ stdout: 'fence \n' }),
    [ctl]: async () => expect(await acquired({ fencing: 'false' })).toMatchObject({ fence: null }),
  },
  history: {
    [run]: async () => {
      await ended({ history: 'false' }, 'a', '--', 'true');
      expect((await first().keys()).filter((key) => key.includes('history'))).toEqual([]);
    },
    [ctl]: async () => {
      const holder = start(ctl, { history: 'false' }, ['hold', 'a']);
      await holder.says('stdout', /\S{27}/);
      holder.signal('SIGTERM');
      await holder.result;
      expect((await first().keys()).filter((key) => key.includes('history'))).toEqual([]);
    },
  },
  historyBytes: both(async (program) => {
    const isKept = await olderHistory();
    const act = (values: Values) =>
      program === run
        ? ended(values, 'a', '--', 'true')
        : told(values, 'freeze', 'a', '--note', 'why');
    await act({ historyBytes: '1GB' });
    expect(await isKept()).toBe(true);
    await told({}, 'thaw', 'a');
    await act({ historyBytes: '1MB' });
    expect(await isKept()).toBe(false);
  }),
  note: {
    [run]: () =>
      during({ note: 'why' }, async () => expect(await shownOn()).toContain('"note":"why"')),
    [ctl]: async () => {
      await acquired({ note: 'why' });
      expect(await shownOn()).toContain('"note":"why"');
    },
  },
  label: {
    [run]: () =>
      during({ label: 'nightly' }, async () => expect(await shownOn()).toContain('"nightly"')),
    [ctl]: async () => {
      await acquired({ label: 'nightly' });
      expect(await shownOn()).toContain('"nightly"');
    },
  },
  reentrant: {
    [run]: async () => {
      const inner = `"${process.execPath}" "$0" -n a -- echo inner`;
      const script = [
        '--',
        '/bin/sh',
        '-c',
        inner,
        join(import.meta.dirname, '../../bin/redlock-run.js'),
      ];
      expect(await ended({ reentrant: 'true' }, 'a', ...script)).toMatchObject({
        stdout: 'inner\n',
      });
    },
  },
  onLost: {
    [run]: async () => {
      const file = fileOf('lost');
      const values = { onLost: `echo "$REDLOCK_LOST" > ${file}`, ttl: '6s' };
      const { code } = await during(values, async () => {
        await takeBy('x', masters, 'a');
        await eventually('the command of onLost has run', () => existsSync(file));
      });
      expect([code, readFileSync(file, 'utf8')]).toEqual([79, 'taken\n']);
    },
  },
  notify: {
    [run]: async () => {
      const file = fileOf('told');
      await ended({ notify: `echo "$REDLOCK_EVENT" >> ${file}` }, 'a', '--', 'true');
      await eventually('acquired was told', () => readFileSync(file, 'utf8').includes('acquired'));
    },
  },
  foreground: {
    [run]: async () => {
      const job = jobOf({ foreground: 'true' }, 'a', ...shell('cut -d" " -f5 /proc/self/stat'));
      expect((await job.result).stdout).toBe(`${job.pid}\n`);
    },
  },
  keepBackground: {
    [run]: async () => {
      const script = 'sleep 60 >/dev/null 2>&1 & echo $!';
      const { stdout } = await ended({ keepBackground: 'true' }, 'a', ...shell(script));
      const pid = Number(stdout);
      expect(isAlive(pid)).toBe(true);
      process.kill(pid, 'SIGKILL');
    },
  },
  isolate: {
    [run]: async () => {
      const { code, stdout } = await ended(
        { isolate: 'true' },
        'a',
        ...shell('readlink /proc/self/ns/pid'),
      );
      // Where the machine does not allow it, that is said, and nothing is started.
      if (code === 0) expect(stdout.trim()).not.toBe(readlinkSync('/proc/self/ns/pid'));
      else expect([code, stdout]).toEqual([69, '']);
    },
  },
  logFormat: {
    [run]: async () => {
      const { stderr } = await ended({ logFormat: 'json' }, '-v', 'a', '--', 'true');
      const events = linesOf(stderr).map((line) => JSON.parse(line));
      expect(events.length).toBeGreaterThan(2);
    },
  },
  username: both(async (program) => {
    await works(program, await login({ password: 'first' }));
    await refused(program, await login({ password: 'first', username: 'another' }));
  }),
  password: both(async (program) => {
    await works(program, await login({ password: 'first' }));
    await refused(program, await login({ password: 'second' }));
  }),
  passwordFile: both(async (program) =>
    works(program, await login({ passwordFile: fileWith('first\n') })),
  ),
  passwordCommand: both(async (program) =>
    works(program, await login({ passwordCommand: 'echo first' })),
  ),
  passwordTtl: {
    [run]: async () => {
      const calls = fileOf('calls');
      const passwordCommand = `echo call >> ${calls}; echo first`;
      const values = await login({ passwordCommand, passwordTtl: '200ms' });
      const callCount = () => linesOf(readFileSync(calls, 'utf8')).length;
      await during(values, () => eventually('a second call', () => callCount() > 1));
    },
    [ctl]: async () => {
      const calls = fileOf('calls');
      const passwordCommand = `echo call >> ${calls}; echo first`;
      const values = await login({ passwordCommand, passwordTtl: '200ms' });
      const holder = start(ctl, values, ['hold', 'a']);
      await holder.says('stdout', /\S{27}/);
      const callCount = () => linesOf(readFileSync(calls, 'utf8')).length;
      await eventually('a second call', () => callCount() > 1);
      holder.signal('SIGTERM');
      await holder.result;
    },
  },
  tls: both(async (program) => {
    const port = await tlsFront(first().url.replace('unix://', ''));
    const config = (name: string) =>
      fileWith(`masters: ["rediss://localhost:${port}"]\ntls:\n  caFile: ${pemFile(name)}\n`);
    const args = program === run ? ['-n', 'a', '--', 'true'] : ['status', 'a'];
    const over = (name: string): Promise<CliResult> =>
      resultOf(program, { masters: undefined }, ['--config', config(name), ...args]);
    expect(await over('ca.pem')).toMatchObject({ code: 0 });
    expect((await over('other.pem')).code).not.toBe(0);
  }),
  caFile: overTls('caFile', pemFile('other.pem')),
  certFile: overTls('certFile', pemFile('server.pem')),
  keyFile: overTls('keyFile', pemFile('server.key')),
  servername: overTls('servername', 'elsewhere'),
};

function isBelow(most: number) {
  return (ms: number) => ms < most;
}

const everyRow = Object.entries(rows).flatMap(([key, programs]) =>
  Object.entries(programs).map(([program, see]) => [key, program, see as See] as const),
);
test.each(everyRow)('%s: %s', (_key, _program, see) => see().then(() => {}));

test('no key of a program is without a row, and no row without a key', async () => {
  const keys = [...keyTable.map(({ key }) => key), ...tlsKeys];
  expect(Object.keys(rows).filter((key) => !keys.some((one) => one === key))).toEqual([]);
  expect(keys.filter((key) => rows[key]?.[run] === undefined)).toEqual([]);
  const options: OptionValues = readOptionValues(new Map());
  const environment = { REDLOCK_CONFIG: '/dev/null', REDLOCK_MASTERS: first().url };
  const around = { environment, cwd: '/', home: undefined };
  const { sources } = await readSettings(options, around);
  const names: readonly string[] = [...tlsKeys, 'masters', 'local', 'tls', 'username'];
  const ofMasters = keys.filter((key) => names.includes(key) || key.startsWith('password'));
  const ofCtl = keys.filter((key) => key in sources || ofMasters.includes(key));
  expect(ofCtl.filter((key) => rows[key]?.[ctl] === undefined)).toEqual([]);
});
