// Programs of the two older protocols and redlock-run on one master: each excludes the other,
// acquires the lock when it is free, and leaves the lock of the other alone. The programs are
// clients/, written only from the descriptions.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { type CliRun, runCli, startCli } from '../servers/run-cli.ts';
import { shellLine } from '../servers/shell.ts';
import { RespClient } from './clients/resp.ts';
import { SetNxPxLock } from './clients/set-nx-px.ts';
import { SetnxLock } from './clients/setnx.ts';

let masters: TestMaster[] = [];
let master: TestMaster;
let redis: RespClient;
beforeAll(async () => {
  masters = await startMasters(1);
  master = masters[0] as TestMaster;
  redis = new RespClient(new URL(master.url).pathname);
});
beforeEach(() => master.flush());
afterAll(async () => {
  redis.close();
  await stopAll();
  nothingLeft();
});

const key = 'lock.job';
const environment = (protocol: string) => ({
  REDLOCK_MASTERS: master.url,
  REDLOCK_PREFIX: 'lock.',
  REDLOCK_PROTOCOL: protocol,
});
const keys = async () => (await master.keys()).filter((one) => !one.endsWith(':history')).sort();

/** The behaviour of redlock-run and redlockctl under a protocol. */
function ours(protocol: string) {
  const env = () => environment(protocol);
  const once = (...flags: string[]) =>
    runCli([...flags, '-n', 'job', '--', 'echo', 'ran'], { env: env() });
  const ctl = (...args: string[]) => runCli(args, { env: env(), program: 'redlockctl' });
  const holding = async (...flags: string[]): Promise<CliRun> => {
    const job = startCli([...flags, 'job', '--', 'sh', '-c', 'echo ready; exec sleep 60'], {
      env: env(),
    });
    await job.says('stdout', /ready/);
    return job;
  };
  return { env, once, ctl, holding };
}

async function ended(job: CliRun): Promise<void> {
  job.signal('SIGTERM');
  await job.result;
}

describe('SET NX PX with one master is redlock with one master', () => {
  const { once, holding } = ours('redlock');

  test('each excludes the other, and lets it in', async () => {
    const theirs = new SetNxPxLock(redis, key);
    expect(await theirs.acquire(10_000)).toBe(true);
    expect((await once()).code).toBe(75);
    expect(await theirs.release()).toBe(true);
    expect((await once()).stdout).toBe('ran\n');
    const job = await holding();
    expect(await theirs.acquire(10_000)).toBe(false);
    expect(await theirs.release()).toBe(false);
    expect(await master.get(key)).not.toBeNull();
    await ended(job);
    expect(await theirs.acquire(10_000)).toBe(true);
  });

  test('theirs that is not released ends with its ttl', async () => {
    await new SetNxPxLock(redis, key).acquire(3_000);
    expect((await once()).code).toBe(75);
    await eventually('let in', async () => (await once()).code === 0, 10_000);
  });
});

const units = [
  ['setnx', 1_000],
  ['setnx-ms', 1],
] as const;

/** A program whose times are in this unit. */
function clientsIn(unitMs: number) {
  const now = () => Math.floor(Date.now() / unitMs);
  return {
    now,
    client: (clock = now) => new SetnxLock(redis, key, clock),
    seconds: (count: number) => (count * 1_000) / unitMs,
  };
}

describe.each(units)('%s', (protocol, unitMs) => {
  const { env, once, holding } = ours(protocol);
  const { client, seconds } = clientsIn(unitMs);

  test('theirs: redlock-run is excluded, says so, and is let in afterwards', async () => {
    const theirs = client();
    expect(await theirs.acquire(seconds(50))).toBe(true);
    const value = await master.get(key);
    const { code, stderr } = await once();
    expect([code, stderr]).toEqual([
      75,
      expect.stringMatching(
        `held by another program \\(value ${value}\\); ` +
          'lease ends in [2-5]\\d(\\.\\d)?s unless extended',
      ),
    ]);
    expect(await master.get(key)).toBe(value);
    await theirs.release();
    expect((await once()).stdout).toBe('ran\n');
  });

  test('ours: they are excluded, also after extensions, and let in when it is done', async () => {
    const job = await holding('--ttl', '3s', '-k', '200ms');
    const value = await master.get(key);
    expect(value).toMatch(unitMs === 1 ? /^\d{13}$/ : /^\d{10}$/);
    const endAt = Date.now() + 5_200; // Not extended, it would have been theirs after 4 s.
    while (Date.now() < endAt) {
      expect(await client().acquire(seconds(1))).toBe(false);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(Number(await master.get(key))).toBeGreaterThan(Number(value));
    await ended(job);
    expect(await keys()).toEqual([]);
    expect(await client().acquire(seconds(1))).toBe(true);
  });

  test('the time at the key is at least a second later than the end of the lease', async () => {
    const before = Date.now();
    const job = await holding('--ttl', '20s');
    const leftMs = Number(await master.get(key)) * unitMs - before;
    expect(leftMs).toBeGreaterThanOrEqual(21_000);
    expect(leftMs).toBeLessThan(24_000);
    await ended(job);
  });

  test('theirs that crashed: ours a second after its time, by GETSET, not before', async () => {
    await client().acquire(seconds(1));
    const endsAt = Number(await master.get(key)) * unitMs;
    const { code, stdout } = await runCli(['-w', '20s', 'job', '--', 'date', '+%s%3N'], {
      env: env(),
    });
    expect(code).toBe(0);
    expect(Number(stdout)).toBeGreaterThan(endsAt + 1_000);
  });

  test('ours that crashed: theirs when its time is over, by GETSET', async () => {
    const job = await holding('--ttl', '1s');
    job.signal('SIGKILL');
    await job.result;
    const theirs = client();
    expect(await theirs.acquire(seconds(10))).toBe(false);
    const value = Number(await master.get(key)) * unitMs;
    await eventually('theirs', () => theirs.acquire(seconds(10)), 8_000);
    expect(Date.now()).toBeGreaterThanOrEqual(value);
    expect((await once()).code).toBe(75);
  });
});

describe.each(units)('%s, both at once', (protocol, unitMs) => {
  const { env } = ours(protocol);
  const { now, seconds } = clientsIn(unitMs);

  test('a hundred attempts of both at the same free lock: never two at once', async () => {
    let insideCount = 0;
    let mostCount = 0;
    let servedCount = 0;
    const enter = () => {
      insideCount += 1;
      servedCount += 1;
      mostCount = Math.max(mostCount, insideCount);
    };
    const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const foreign = async () => {
      const connection = new RespClient(new URL(master.url).pathname);
      const lock = new SetnxLock(connection, key, now);
      for (let served = 0; served < 10; ) {
        if (await lock.acquire(seconds(10))) {
          enter();
          await sleep(5);
          insideCount -= 1;
          await lock.release();
          served += 1;
        }
        await sleep(10 * Math.random());
      }
      connection.close();
    };
    const own = async () => {
      for (let served = 0; served < 3; ) {
        const job = startCli(['-n', 'job', '--', 'sh', '-c', 'echo in; read line'], {
          env: env(),
          stdin: 'pipe',
        });
        job.child.stdout?.on('data', enter);
        await Promise.race([job.says('stdout', /in/), job.result]).catch(() => {});
        if (job.stdout !== '') {
          await sleep(5);
          insideCount -= 1;
          served += 1;
          job.child.stdin?.end('\n');
        }
        await job.result;
      }
    };
    await Promise.all([foreign(), foreign(), own(), own()]);
    expect([mostCount, servedCount]).toEqual([1, 26]);
  });
});

describe.each(units)('%s, a lock that is lost', (protocol, unitMs) => {
  const { holding } = ours(protocol);
  const { now, client, seconds } = clientsIn(unitMs);

  test('taken over by force: 79, the command has ended, and theirs is left alone', async () => {
    const ahead = client(() => now() + seconds(60));
    const job = await holding('--ttl', '2s');
    expect(await ahead.acquire(seconds(10))).toBe(true);
    const value = await master.get(key);
    expect(await job.result).toMatchObject({ code: 79 });
    expect(await master.get(key)).toBe(value);
  });

  test('the loser of a GETSET has changed our time: taken, 79, and its time may pass', async () => {
    const job = await holding('--ttl', '2s');
    const moved = String(Number(await master.get(key)) + 1);
    await master.command('getset', key, moved);
    expect(await job.result).toMatchObject({ code: 79 });
    expect(await master.get(key)).toBe(moved);
  });

  test('cut off from the master: the command ends before the time at the key', async () => {
    const job = await holding('--ttl', '2s');
    const mark = Number(await master.get(key));
    await master.freeze();
    const { code } = await job.result;
    const endedAt = Date.now();
    master.thaw();
    expect(code).toBe(79);
    expect(endedAt).toBeLessThan(mark * unitMs);
  });
});

describe.each(units)('%s, shown, broken and kept', (protocol, unitMs) => {
  const { env, ctl, holding } = ours(protocol);
  const { client, seconds } = clientsIn(unitMs);

  test('redlockctl shows the holder, how long, and free when the time is over', async () => {
    const state = async () => JSON.parse((await ctl('status', 'job', '--json')).stdout).locks[0];
    expect(await state()).toMatchObject({ state: 'free', holders: [] });
    const job = await holding('--ttl', '20s');
    const held = await state();
    expect(held).toMatchObject({
      state: 'held',
      fence: null,
      holders: [{ kind: 'redlock-run', label: 'sh', pid: job.pid }],
    });
    expect(held.remainingMs).toBeGreaterThan(10_000);
    expect((await ctl('list')).stdout).toMatch(/job/);
    expect((await ctl('list', '--json')).stdout.match(/"name":/g)).toHaveLength(1);
    await ended(job);
    await client().acquire(seconds(1));
    const theirs = await state();
    expect(theirs).toMatchObject({
      state: 'held',
      holders: [{ kind: 'string', token: await master.get(key) }],
    });
    expect(theirs.remainingMs).toBeLessThan(4_500);
    await eventually('over', async () => (await state()).state === 'free', 8_000);
    expect(await master.get(key)).not.toBeNull();
  });

  test('redlockctl breaks theirs and ours, and takes a lock in steps', async () => {
    await client().acquire(seconds(60));
    expect((await ctl('break', 'job', '--yes')).code).toBe(0);
    const job = await holding('--ttl', '2s');
    expect((await ctl('break', 'job', '--yes', '--safely')).code).toBe(0);
    expect(await client().acquire(seconds(1))).toBe(false);
    expect((await job.result).code).toBe(79);
    await master.flush();
    const token = (await ctl('acquire', 'job', '--ttl', '5s')).stdout.trim();
    expect(await client().acquire(seconds(1))).toBe(false);
    for (const verb of ['check', 'extend', 'release', 'check']) {
      expect([verb, (await ctl(verb, 'job', '--token', token)).code]).toEqual([
        verb,
        verb === 'check' && (await keys()).length === 0 ? 79 : 0,
      ]);
    }
    expect(await client().acquire(seconds(1))).toBe(true);
  });

  test('--hold-at-least, --reentrant, and both ends in the history', async () => {
    const program = shellLine(process.execPath, `${process.cwd()}/bin/redlock-run.js`);
    const inner = `exec ${program} --reentrant job -- echo "inside, fence '$REDLOCK_FENCE'"`;
    const result = await runCli(['--hold-at-least', '4s', 'job', '-c', inner], { env: env() });
    expect(result).toMatchObject({ code: 0, stdout: "inside, fence ''\n", stderr: '' });
    expect(await client().acquire(seconds(1))).toBe(false);
    expect(JSON.parse((await ctl('history', 'job', '--json')).stdout).runs).toMatchObject([
      { outcome: 'ran', fence: null },
    ]);
  });
});

describe('setnx', () => {
  const { once, ctl } = ours('setnx');

  test.each([
    ['fractions', () => `${Date.now() / 1_000 + 60}`, 75],
    ['milliseconds', () => `${Date.now() + 60_000}`, 75],
    ['a value that is no time', () => 'them', 75],
    ['fractions that are over', () => `${Date.now() / 1_000 - 1.5}`, 0],
    ['milliseconds that are over', () => `${Date.now() - 1_500}`, 0],
  ])('theirs in %s', async (_, value, code) => {
    await master.command('set', key, value());
    expect((await once()).code).toBe(code);
  });

  test('redlockctl breaks theirs safely: only a time stays until its end', async () => {
    const theirs = `${Math.floor(Date.now() / 1_000) + 60}.1234567`;
    await master.command('set', key, theirs);
    expect((await ctl('break', 'job', '--yes', '--safely')).code).toBe(0);
    expect([await master.get(key), (await once()).code]).toEqual([theirs, 75]);
    await master.command('set', key, 'them');
    expect((await ctl('break', 'job', '--yes', '--safely')).code).toBe(0);
    expect((await once()).code).toBe(0);
  });

  test('a key of another type is no lock, and is left alone', async () => {
    await master.command('hset', key, 'a', 'b');
    expect(await once()).toMatchObject({ code: 75, stderr: expect.stringContaining('(a hash)') });
    expect(await master.command('type', key)).toBe('hash');
  });

  test('is for one master and one exclusive lock', async () => {
    const env = environment('setnx');
    const two = await runCli(['job', '--', 'true'], {
      env: { ...env, REDLOCK_MASTERS: `${master.url},redis://h:1` },
    });
    expect([two.code, two.stderr]).toEqual([
      78,
      expect.stringMatching(/^redlock-run: REDLOCK_PROTOCOL: setnx: .*one master/),
    ]);
    const local = await runCli(['--local', 'job', '--', 'true'], { env });
    expect(local.code).toBe(78);
    for (const flags of [['--shared'], ['--slots', '2'], ['--replace'], ['other']]) {
      expect([flags, (await runCli([...flags, 'job', '--', 'true'], { env })).code]).toEqual([
        flags,
        64,
      ]);
    }
    const wrong = await runCli(['job', '--', 'true'], {
      env: { ...env, REDLOCK_PROTOCOL: 'setxn' },
    });
    expect([wrong.code, wrong.stderr]).toEqual([78, expect.stringContaining('not a protocol')]);
  });
});
