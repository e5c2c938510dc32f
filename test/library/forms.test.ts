// Shared locks, slots and several resources in the library: with each other, with the built
// redlock-run, and the mistakes that are refused before anything is sent.

import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { AcquireOptions, Redlock, Resources } from '../../src/index.ts';
import { environmentFor } from '../cli/rig.ts';
import { runCli, startCli } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { collector, countOf, errorOf, redlockOn, untilNothingIsLeft, useMasters } from './rig.ts';

const { masters } = useMasters(3);
afterEach(() => untilNothingIsLeft(masters));

const job = (...args: string[]) => startCli(args, { env: environmentFor(masters) });
const codeOf = async (...args: string[]) =>
  (await runCli([...args, '--', 'true'], { env: environmentFor(masters) })).code;

/** The kind of the error of one attempt; null: the lock was acquired and released. */
async function refusal(resource: Resources, options: AcquireOptions = {}): Promise<string | null> {
  return redlockOn(masters)
    .using(resource, 5_000, { waitMs: 0, ...options }, () => null)
    .catch(({ kind }) => kind);
}

/** Resolves when a call of this Redlock is in the queue. */
function waiter(resource: Resources, options: AcquireOptions) {
  const { events, onEvent } = collector();
  const redlock = redlockOn(masters, { onEvent });
  const acquiring = redlock.acquire(resource, 5_000, options);
  acquiring.catch(() => {});
  const isInLine = async () => {
    while (!events.some((event) => event.kind === 'waiting' && event.position !== null))
      await sleep(10);
  };
  return { acquiring, isInLine: isInLine() };
}

describe('shared', () => {
  test('together with other shared holders, never with an exclusive one', async () => {
    const readers = await Promise.all(
      [1, 2].map(() => redlockOn(masters).acquire('form', 5_000, { shared: true })),
    );
    expect(await refusal('form', { shared: true })).toBeNull();
    const error = await errorOf(redlockOn(masters).acquire('form', 5_000, { waitMs: 0 }));
    expect(error).toMatchObject({ kind: 'busy', holder: 'shared' });
    expect(error.message).toMatch(
      /^busy: "form": held by shared holders; lease ends in .*\(raise waitMs\)$/,
    );
    expect(await refusal('form', { slots: 2 })).toBe('busy');
    await readers[0]?.release();
    expect(await refusal('form')).toBe('busy');
    await readers[1]?.release();
    const writer = await redlockOn(masters).acquire('form', 5_000);
    expect(await refusal('form', { shared: true })).toBe('busy');
    expect([readers[0]?.slot, writer.slot]).toEqual([null, null]);
    await writer.release();
  });

  test('a waiting writer is ahead of later readers, and then come all of them', async () => {
    const reader = await redlockOn(masters).acquire('form', 5_000, { shared: true });
    const writer = waiter('form', {});
    await writer.isInLine;
    expect(await refusal('form', { shared: true })).toBe('busy');
    const late = [1, 2, 3].map(() => waiter('form', { shared: true }));
    await Promise.all(late.map(({ isInLine }) => isInLine));
    await reader.release();
    const writing = await writer.acquiring;
    expect(await refusal('form', { shared: true })).toBe('busy');
    await writing.release();
    const reading = await Promise.all(late.map(({ acquiring }) => acquiring));
    await Promise.all(reading.map((lease) => lease.release()));
  });

  test('redlock-run -s shares with a reader and excludes a writer, and the reverse', async () => {
    const program = job('-s', 'form', '--', 'sh', '-c', 'echo ready; exec sleep 60');
    await program.says('stdout', /ready/);
    const reader = await redlockOn(masters).acquire('form', 5_000, { shared: true });
    expect(await refusal('form')).toBe('busy');
    program.signal('SIGTERM');
    await program.result;
    expect(await Promise.all([codeOf('-n', '-s', 'form'), codeOf('-n', 'form')])).toEqual([0, 75]);
    await reader.release();
    const writer = await redlockOn(masters).acquire('form', 5_000);
    expect(await codeOf('-n', '-s', 'form')).toBe(75);
    await writer.release();
  });

  test('each holder keeps alive, extends and releases its own part', async () => {
    const kept = await redlockOn(masters).acquire('form', 3_000, { shared: true, keepAlive: true });
    const brief = await redlockOn(masters).acquire('form', 600, { shared: true });
    await sleep(3_200);
    expect([kept.signal.aborted, brief.signal.aborted]).toEqual([false, true]);
    await expect(kept.extend()).resolves.toBeUndefined();
    expect(brief.signal.reason).toMatchObject({ kind: 'lost', reason: 'expired' });
    expect(await kept.release()).toBe(true);
    await brief.release();
  });
});

describe('slots', () => {
  test('N holders and no more, and any free slot is found', async () => {
    const redlock = redlockOn(masters);
    const leases = await Promise.all(
      [1, 2, 3].map(() => redlock.acquire('form', 5_000, { slots: 3, waitMs: 0 })),
    );
    expect(leases.map(({ slot }) => slot).sort()).toEqual([1, 2, 3]);
    const error = await errorOf(redlock.acquire('form', 5_000, { slots: 3, waitMs: 0 }));
    expect(error).toMatchObject({ kind: 'busy', holder: 'slots 3' });
    await leases[1]?.release();
    expect(await refusal('form', { slots: 3 })).toBeNull();
    expect(await refusal('form', { slots: 2 })).toBe('busy');
    expect(await refusal('form', { slots: 1 })).toBe('busy');
    await leases[0]?.release();
    await leases[2]?.release();
    const alone = await redlock.acquire('form', 5_000, { slots: 1 });
    expect(alone).toMatchObject({ resources: ['form'], slot: 1 });
    expect(await refusal('form', { slots: 1 })).toBe('busy');
    await alone.release();
  });

  test('never three on two slots, of the library and of redlock-run --slots 2', async () => {
    const file = join(mkdtempSync(join(scratchFolder(), 'slots-')), 'log');
    const told = (change: string) => appendFileSync(file, `${change}\n`);
    const work = async (redlock: Redlock) => {
      for (let turn = 0; turn < 6; turn++) {
        await redlock.using('form', 5_000, { slots: 2 }, async () => {
          told('+1');
          await sleep(40);
          told('-1');
        });
      }
    };
    const script = `echo +1 >> ${file}; sleep 0.15; echo -1 >> ${file}`;
    const programs = Array.from(
      { length: 2 },
      () => job('--slots', '2', 'form', '-c', script).result,
    );
    await Promise.all([1, 2, 3, 4].map(() => work(redlockOn(masters))));
    expect((await Promise.all(programs)).map(({ code }) => code)).toEqual([0, 0]);
    const changes = readFileSync(file, 'utf8').trim().split('\n').map(Number);
    expect(changes).toHaveLength(2 * (4 * 6 + 2));
    let count = 0;
    const counts = changes.map((change) => (count += change));
    expect(Math.max(...counts)).toBe(2);
  });
});

describe('several resources', () => {
  test('all or none, and a lease names them', async () => {
    const other = await redlockOn(masters).acquire('b', 5_000);
    const error = await errorOf(redlockOn(masters).acquire(['a', 'b', 'c'], 5_000, { waitMs: 0 }));
    expect(error.kind).toBe('busy');
    expect(error.message).toMatch(/^busy: "b" of "a" "b" "c": held by /);
    expect([await refusal('a'), await refusal('c')]).toEqual([null, null]);
    await other.release();
    const names = ['c', 'b', 'a'];
    const lease = await redlockOn(masters).acquire(names, 5_000);
    names.length = 0;
    expect(lease).toMatchObject({ resource: 'c', resources: ['c', 'b', 'a'] });
    expect(lease.fence).toBeGreaterThan(Number(other.fence));
    expect(await Promise.all(['a', 'b', 'c'].map((name) => refusal(name)))).toEqual([
      'busy',
      'busy',
      'busy',
    ]);
    expect(await codeOf('-n', 'b')).toBe(75);
    expect(await lease.release()).toBe(true);
    expect(await refusal('b')).toBeNull();
  });

  test('are lost together: one missing key is a lost lock', async () => {
    const lease = await redlockOn(masters).acquire(['a', 'b'], 5_000);
    await lease.extend();
    for (const master of masters) await master.command('del', 'redlock:b');
    expect(await errorOf(lease.extend())).toMatchObject({
      kind: 'lost',
      message: expect.stringMatching(/"a" "b"/),
    });
    await lease.release();
  });

  test('in opposite order, beside redlock-run: no deadlock, no overlap', async () => {
    let holderCount = 0;
    const work = async (names: string[]) => {
      for (let turn = 0; turn < 8; turn++) {
        await redlockOn(masters).using(names, 5_000, { waitMs: 30_000 }, async () => {
          holderCount += 1;
          await sleep(5);
          expect(holderCount).toBe(1);
          holderCount -= 1;
        });
      }
    };
    const program = codeOf('-w', '30s', 'b', 'a');
    await Promise.all([work(['a', 'b']), work(['b', 'a']), work(['a', 'b']), work(['b', 'a'])]);
    expect(await program).toBe(0);
  });

  test('may be shared, each with the shared holders of one of them', async () => {
    const lease = await redlockOn(masters).acquire(['a', 'b'], 5_000, { shared: true });
    expect(await refusal(['b', 'c'], { shared: true })).toBeNull();
    expect(await refusal(['b', 'c'])).toBe('busy');
    await lease.release();
  });
});

describe('supersede', () => {
  /** A master remembers for three seconds that a waiter has superseded others. */
  const forgetNewest = () => Promise.all(masters.map((master) => master.flush()));

  test('an older waiter leaves for a newer one; the holder and other waiters go on', async () => {
    const holder = await redlockOn(masters).acquire('form', 10_000, { supersede: true });
    const patient = waiter('form', {});
    await patient.isInLine;
    const older = waiter('form', { supersede: true });
    await older.isInLine;
    const newer = waiter('form', { supersede: true });
    const error = await errorOf(older.acquiring);
    expect(error).toMatchObject({ kind: 'superseded', holder: null });
    expect(error.message).toMatch(
      new RegExp(`^busy: "form": superseded by a newer run, pid ${process.pid} on [^:]+$`),
    );
    expect(holder.signal.aborted).toBe(false);
    await holder.release();
    await (await patient.acquiring).release();
    await (await newer.acquiring).release();
    await forgetNewest();
  });

  test('by redlock-run --supersede', async () => {
    const holder = await redlockOn(masters).acquire('form', 10_000);
    const older = waiter('form', { supersede: true });
    await older.isInLine;
    const newer = job('--supersede', 'form', '--', 'true');
    expect((await errorOf(older.acquiring)).kind).toBe('superseded');
    await holder.release();
    expect((await newer.result).code).toBe(0);
    await forgetNewest();
  });
});

test('onEvent gets the first resource and all resources', async () => {
  const heard: unknown[] = [];
  const onEvent = (_event: unknown, ...those: unknown[]) => void heard.push(those);
  await redlockOn(masters, { onEvent }).using(['a', 'b'], 5_000, () => {});
  expect(heard.length).toBeGreaterThan(1);
  expect(heard).toEqual(heard.map(() => ['a', ['a', 'b']]));
});

describe('mistakes are refused before anything is sent', () => {
  const many = Array.from({ length: 101 }, (_, index) => `name ${index}`);

  test.each([
    [/^resource: no names in the array \(give at least one\)$/, [], {}],
    [/^resource: "a": given twice \(name each lock once\)$/, ['a', 'b', 'a'], {}],
    [/^resource: "": empty \(give the lock a name\)$/, ['a', ''], {}],
    [/^resource: no name \(give a string, or an array of strings\)$/, ['a', 1] as never, {}],
    [/^resource: no name/, undefined as never, {}],
    [/4097 bytes long \(at most 4096\)$/, 'a'.repeat(4_097), {}],
    [/^resource: 101 names \(at most 100\)$/, many, {}],
    [
      /^slots: with several names: slots are for one name \(leave one out\)$/,
      ['a', 'b'],
      { slots: 2 },
    ],
    [
      /^slots: with shared: a shared lock has no limit of holders \(leave one out\)$/,
      'a',
      { slots: 2, shared: true },
    ],
    [/^option: "slots": "0" will not do \(write 1 to 1000\)$/, 'a', { slots: 0 }],
    [/"slots": "1.5" will not do/, 'a', { slots: 1.5 }],
    [/"slots": "1001" will not do/, 'a', { slots: 1_001 }],
    [/"shared": "1" will not do \(write true or false\)$/, 'a', { shared: 1 as never }],
    [/"supersede": "yes" will not do/, 'a', { supersede: 'yes' as never }],
    [/"slot": unknown \(did you mean slots\?\)$/, 'a', { slot: 2 } as never],
  ] satisfies [RegExp, Resources, AcquireOptions][])('%s', async (message, resource, options) => {
    const { events, onEvent } = collector();
    const call = redlockOn(masters, { onEvent }).acquire(resource, 2_000, options);
    expect(await errorOf(call)).toMatchObject({
      kind: 'usage',
      message: expect.stringMatching(message),
    });
    expect(events).toEqual([]);
  });

  test('one slot is an exclusive lock', async () => {
    expect(await refusal(['a', 'b'], { slots: 1, shared: true })).toBeNull();
    expect(await countOf(masters, 'a')).toBe(0);
  });

  test('a form is an option of a call, and not of the Redlock', () => {
    expect(() => redlockOn(masters, { shared: true } as never)).toThrow(
      /^option: "shared": is for one call \(give it there\)$/,
    );
  });
});
