// The truth table of every script on a real server, for one resource that is held alone: what
// stands at the key, what the script answers, what stands there afterwards, and what became of
// the counter. The rows are the specification; the scripts are src/redis/scripts/*.lua.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { shortLua } from '../../scripts/short-lua.js';
import { type ScriptName, scriptOf } from '../../src/redis/calls/scripts.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';

let master: TestMaster;
beforeAll(async () => {
  [master] = (await startMasters(1)) as [TestMaster];
});
beforeEach(() => master.flush());
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/**
 * What stands at the key: nothing, our value, another one, one without expiry, or something that
 * is no string.
 */
type Before = 'absent' | 'ours' | 'foreign' | 'eternal' | 'hash';

const arrange: Record<Before, () => Promise<unknown>> = {
  absent: async () => {},
  ours: () => master.command('set', 'k', 'us', 'px', 5_000),
  foreign: () => master.command('set', 'k', 'them', 'px', 5_000),
  eternal: () => master.command('set', 'k', 'them'),
  hash: () => master.command('hset', 'k', 'field', 'x'),
};

type Word = string | number;
const keys = ['k', 'n', 'q', 'w', 'b', 'f'];
/** One exclusive resource, for a run that does not wait and leaves nothing in the history. */
const usual = { count: 1, value: 'us', ttl: 30_000, mode: '', slot: 0, undone: '', line: '' };
type Args = Readonly<Record<string, Word>>;
/** For EVAL: the script as it ships, the keys, and the arguments that it reads. */
function wordsOf(
  name: ScriptName,
  parts: Texts,
  args: Args,
  named: readonly string[] = keys,
): Word[] {
  const { text, params } = scriptOf(name, parts.hasForms, parts.hasHistory);
  const words = params.map((param) => ({ ...usual, ...args })[param] ?? '');
  return [shortLua(text), named.length, ...named, ...words];
}
const run = (name: ScriptName, parts: Texts, args: Args) =>
  master.command('eval', ...wordsOf(name, parts, args));
/** A refusal of one that does not wait. */
const refused = (holder: string, remainingMs: unknown) => [
  ...[0, 'holder', holder, 'remainingMs', remainingMs],
  ...['position', null, 'masterTimeUs', expect.any(Number)],
];
const pttl = async (key: string) => Number(await master.command('pttl', key));
const about = (ms: number) =>
  expect.toSatisfy((left: number) => left > ms - 1_000 && left <= ms, `about ${ms}`);
const forgotten = -2;
const forever = -1;

/** The key as text, whatever its type. */
async function ownership(): Promise<string | null> {
  const type = await master.command('type', 'k');
  return type === 'hash'
    ? `{field: ${await master.command('hget', 'k', 'field')}}`
    : master.get('k');
}

type RaiseRow = readonly [
  Before,
  number | null,
  number,
  unknown,
  string | null,
  number,
  number | null,
];

const texts = [
  ['those that are sent', { hasForms: false, hasHistory: false }],
  ['whole', { hasForms: true, hasHistory: true }],
] as const;
type Texts = (typeof texts)[number][1];

/** As they are called for a run that does not wait. */
function callsOf(parts: Texts) {
  return {
    acquire: (value: string, ttl: number, keep: number) =>
      run('acquire', parts, { value, ttl, keep }),
    release: (value: string, keepMs: number) => run('release', parts, { value, keepMs }),
    extend: (value: string, ttl: number, keep: number, fence: number) =>
      run('extend', parts, { value, ttl, keep, fence }),
    repair: (value: string, ttl: number, keep: number, fence: number) =>
      run('repair', parts, { value, ttl, keep, fence }),
  };
}

describe.each(texts)('%s', (_, parts) => {
  const { acquire, release } = callsOf(parts);

  describe('acquire', () => {
    test.each([
      ['absent', null, [1, about16Digits()], 'us', 30_000],
      ['absent', 41, [1, 42], 'us', 30_000],
      ['ours', 41, [1, 42], 'us', 30_000],
      ['foreign', 41, refused('them', about(5_000)), 'them', 5_000],
      ['eternal', 41, refused('them', null), 'them', forever],
      ['hash', 41, refused('(a hash)', null), '{field: x}', forever],
    ] as const)(
      '%s, counter %j -> %j; then %s for %i ms',
      async (before, count, reply, value, leftMs) => {
        await arrange[before]();
        if (count !== null) await master.command('set', 'n', count);
        expect(await acquire('us', 30_000, 90_000)).toEqual(reply);
        expect(await ownership()).toBe(value);
        expect(await pttl('k')).toEqual(leftMs === forever ? forever : about(leftMs));
        const isGranted = reply[0] === 1;
        expect(await pttl('n')).toEqual(isGranted ? about(90_000) : forever);
        if (count !== null)
          expect(await master.get('n')).toBe(String(isGranted ? count + 1 : count));
      },
    );

    test('without a fence: granted, 0, and no counter appears', async () => {
      expect(await acquire('us', 30_000, 0)).toEqual([1, 0]);
      expect(await master.keys()).toEqual(['k']);
    });

    test('a missing counter starts at the time of the server in microseconds', async () => {
      const [seconds, micros] = (await master.command('time')) as [string, string];
      const [, fence] = (await acquire('us', 30_000, 90_000)) as [number, number];
      const startedAt = Number(seconds) * 1_000_000 + Number(micros);
      expect(fence - startedAt).toSatisfy((micros) => micros > 0 && micros < 1_000_000);
      expect(await master.get('n')).toBe(String(fence));
    });

    test.each([
      'a value of two words {"host":"h"}',
      'quotes " and \' and \\',
      'líne\nbreak',
      '🔒',
      'x'.repeat(100_000),
    ])('compares values whole: %.20j', async (value) => {
      await master.command('set', 'k', value);
      expect(await acquire(value, 30_000, 0)).toEqual([1, 0]);
      expect(await acquire(value.slice(0, -1), 30_000, 0)).toEqual(
        refused(value.slice(0, 1_024), about(30_000)),
      );
    });
  });

  describe('release', () => {
    test.each([
      ['absent', 0, -1, null, forgotten],
      ['ours', 0, 1, null, forgotten],
      ['foreign', 0, 0, 'them', 5_000],
      ['eternal', 0, 0, 'them', forever],
      ['hash', 0, 0, '{field: x}', forever],
      ['absent', 9_000, -1, null, forgotten],
      ['ours', 9_000, 1, 'us', 9_000],
      ['ours', 2_000, 1, 'us', 2_000],
      ['foreign', 9_000, 0, 'them', 5_000],
      ['eternal', 9_000, 0, 'them', forever],
      ['hash', 9_000, 0, '{field: x}', forever],
    ] as const)(
      '%s, keep for %i ms -> %i; then %j for %i ms',
      async (before, keepMs, reply, value, leftMs) => {
        await arrange[before]();
        await master.command('set', 'n', 41);
        expect(await release('us', keepMs)).toBe(reply);
        expect(await ownership()).toBe(value);
        expect(await pttl('k')).toEqual(leftMs < 0 ? leftMs : about(leftMs));
        expect(await master.get('n')).toBe('41');
      },
    );
  });
});

describe.each(texts)('%s', (_, parts) => {
  const { acquire, extend, repair } = callsOf(parts);

  describe('extend', () => {
    const extended = [1, 'masterTimeUs', expect.any(Number)];
    test.each([
      ['absent', 41, 50, [-1], null, forgotten, 41],
      ['ours', 41, 50, extended, 'us', 30_000, 50],
      ['ours', 60, 50, extended, 'us', 30_000, 60],
      ['ours', null, 50, extended, 'us', 30_000, 50],
      ['foreign', 41, 50, [0], 'them', 5_000, 41],
      ['foreign', null, 50, [0], 'them', 5_000, null],
      ['eternal', 41, 50, [0], 'them', forever, 41],
      ['hash', 41, 50, [0], '{field: x}', forever, 41],
    ] as const)('%s, counter %j, raise to %i -> %j; then %j for %i ms, counter %j', (...row) =>
      checkRaise(extend, row),
    );

    test('tells the time of the server', async () => {
      await arrange.ours();
      const [, , timeUs] = (await extend('us', 30_000, 0, 0)) as number[];
      const [seconds, micros] = ((await master.command('time')) as string[]).map(Number);
      expect(Number(seconds) * 1_000_000 + Number(micros) - Number(timeUs)).toSatisfy(
        (micros) => micros > 0 && micros < 1_000_000,
      );
    });
  });

  describe('repair', () => {
    test.each([
      ['absent', 41, 50, 1, 'us', 30_000, 50],
      ['absent', 60, 50, 1, 'us', 30_000, 60],
      ['absent', null, 50, 1, 'us', 30_000, 50],
      ['ours', 41, 50, 1, 'us', 30_000, 50],
      ['foreign', 41, 50, 0, 'them', 5_000, 41],
      ['eternal', null, 50, 0, 'them', forever, null],
      ['hash', 41, 50, 0, '{field: x}', forever, 41],
    ] as const)('%s, counter %j, raise to %i -> %j; then %j for %i ms, counter %j', (...row) =>
      checkRaise(repair, row),
    );
  });

  test.each([
    ['extend', extend],
    ['repair', repair],
  ])('%s without a fence: the counter is let alone', async (_name, ask) => {
    await arrange.ours();
    await ask('us', 30_000, 0, 0);
    expect(await master.keys()).toEqual(['k']);
    await master.command('set', 'n', 41);
    await ask('us', 30_000, 0, 0);
    expect([await master.get('n'), await pttl('n')]).toEqual(['41', forever]);
  });

  test('numbers of sixteen digits are exact in all scripts', async () => {
    const count = 1_763_700_000_000_001;
    await master.command('set', 'n', String(count));
    expect(await acquire('us', 30_000, 90_000)).toEqual([1, count + 1]);
    await extend('us', 30_000, 90_000, count + 2);
    expect(await master.get('n')).toBe(String(count + 2));
    await repair('us', 30_000, 90_000, count + 3);
    expect(await master.get('n')).toBe(String(count + 3));
    expect(await acquire('us', 30_000, 90_000)).toEqual([1, count + 4]);
  });
});

async function checkRaise(
  ask: (value: string, ttl: number, keep: number, fence: number) => Promise<unknown>,
  [before, count, fence, reply, value, leftMs, countAfter]: RaiseRow,
) {
  await arrange[before]();
  if (count !== null) await master.command('set', 'n', count);
  expect(await ask('us', 30_000, 90_000, fence)).toEqual(reply);
  expect(await ownership()).toBe(value);
  expect(await pttl('k')).toEqual(leftMs < 0 ? leftMs : about(leftMs));
  expect(await master.get('n')).toBe(countAfter === null ? null : String(countAfter));
  if (value === 'us') expect(await pttl('n')).toEqual(about(90_000));
}

const h = '{k}:runs:history';
const histories = [h, '{k}:facts:history', '{p}:names:history', '{p}:size:history'];
const declared = [...keys, ...histories];
const day = 86_400_000;
const lines = async () => {
  const entries = (await master.command('lrange', h, 0, -1)) as string[];
  return entries.map((entry) => entry.replace(/^\d{13} /, ''));
};

/** A release with a line for the history. */
function leavingWith({ hasForms }: Texts) {
  const parts = { hasForms, hasHistory: true } as Texts;
  const wordsFor = (line: string, keepMs: number) => {
    const args = { keepMs, line, index: '{p}', maxBytes: 64_000_000, isSuccess: 0 };
    return wordsOf('release', parts, args, declared);
  };
  const leave = (line: string, keepMs = 0) => master.command('eval', ...wordsFor(line, keepMs));
  /** The lock is released and the next in line called, whatever becomes of the line. */
  async function releases(
    as: (words: Word[]) => Promise<unknown> = (words) => master.command('eval', ...words),
  ) {
    await arrange.ours();
    await master.command('zadd', 'q', 1, 'next');
    await master.command('zadd', 'w', Date.now() - 1_000, 'next');
    const calls: string[] = [];
    const stop = await master.hear(['{k}:wake:next'], (channel) => calls.push(channel));
    const reply = await as(wordsFor('line', 0));
    await stop();
    expect([reply, await ownership(), calls]).toEqual([1, null, ['{k}:wake:next']]);
  }
  return { leave, releases };
}

describe.each(texts)('%s: the line that a release leaves', (_, parts) => {
  const { release } = callsOf(parts);
  const { leave } = leavingWith(parts);

  test.each([
    ['absent', 0, -1, null],
    ['ours', 0, 1, null],
    ['ours', 9_000, 1, 'us'],
    ['foreign', 0, 0, 'them'],
    ['eternal', 0, 0, 'them'],
    ['hash', 0, 0, '{field: x}'],
  ] as const)(
    '%s, keep for %i ms -> %i, one line, for thirty days; then %j',
    async (before, keepMs, reply, value) => {
      await arrange[before]();
      expect(await leave('{"a":1}', keepMs)).toBe(reply);
      expect(await lines()).toEqual(['{"a":1}']);
      expect(await pttl(h)).toEqual(about(30 * day));
      expect(await ownership()).toBe(value);
    },
  );

  test('none where there is none to leave', async () => {
    await arrange.ours();
    expect(await release('us', 0)).toBe(1);
    expect(await master.keys()).toEqual([]);
  });

  test('twice where it is sent twice', async () => {
    await arrange.ours();
    expect([await leave('x'), await leave('x')]).toEqual([1, -1]);
    expect(await lines()).toHaveLength(2);
  });

  test('the newest thousand are kept', async () => {
    const script = "for i = 1, 1000 do redis.call('rpush', KEYS[1], string.rep('x', 300)) end";
    await master.command('eval', script, 1, h);
    await leave('newest');
    const kept = await lines();
    expect([kept.length, kept[0]]).toEqual([1_000, 'newest']);
  });
});

describe.each(texts)('%s: a line that cannot be left', (_, parts) => {
  const { leave, releases } = leavingWith(parts);

  test('a key of another type in its place: released, and that key is as it was', async () => {
    await master.command('set', h, 'theirs');
    await releases();
    expect([await master.get(h), await pttl(h)]).toEqual(['theirs', forever]);
  });

  test('a master out of memory: released, and nothing is added', async () => {
    await arrange.ours();
    await master.command('config', 'set', 'maxmemory', 1);
    try {
      expect(await leave('line')).toBe(1);
    } finally {
      await master.command('config', 'set', 'maxmemory', 0);
    }
    expect(await master.keys()).toEqual([]);
  });

  test.each([
    ['the command', ['~*', '&*', '+@all', '-lpush']],
    ['its time to live', ['~*', '&*', '+@all', '-pexpire']],
  ])('no right to %s: released all the same', async (_what, rules) => {
    await master.command('acl', 'setuser', 'few', 'reset', 'on', 'nopass', ...rules);
    const client = new Redis({
      path: master.url.slice('unix://'.length),
      username: 'few',
      password: 'any',
    });
    try {
      await releases((words) => client.call('eval', ...words));
    } finally {
      client.disconnect();
      await master.command('acl', 'deluser', 'few');
    }
  });
});

const line = () => master.command('zrange', 'q', 0, -1);
const seen = async () => ((await master.command('zrange', 'w', 0, -1)) as string[]).sort();

/** Sets when they gave their last sign of life. */
async function setSeen(inSeconds: number, ids: readonly string[]): Promise<void> {
  const [seconds] = (await master.command('time')) as [string];
  const at = (Number(seconds) + inSeconds) * 1_000;
  for (const id of ids) await master.command('zadd', 'w', at, id);
}
/** Their last sign of life was a second ago. */
const longAgo = (...ids: string[]) => setSeen(-1, ids);
/** They have just asked, however long the test takes on a busy machine. */
const justNow = (...ids: string[]) => setSeen(60, ids);

/** What waiters send. */
function waitingWith(parts: Texts) {
  const enter = (id: string, arrival: number, value = id) =>
    run('acquire', parts, { value, keep: 0, id, arrival });
  const position = async (id: string, arrival: number) =>
    ((await enter(id, arrival)) as number[])[6];
  const rollback = (value: string, id: string, arrival: number | string = '') =>
    run('release', parts, { value, keepMs: 0, id, arrival });
  return { enter, position, rollback };
}

describe.each(texts)('%s: the queue', (_, parts) => {
  const { acquire } = callsOf(parts);
  const { enter, position, rollback } = waitingWith(parts);

  test('is by arrival, whichever asks first, and ties by id', async () => {
    await arrange.foreign();
    expect(await position('late', 30)).toBeLessThan(16_384);
    expect(await position('early', 10)).toBeLessThan(16_384);
    expect(await position('same-b', 20)).toBe(1);
    expect(await position('same-a', 20)).toBe(1);
    expect(await position('late', 30)).toBe(3);
    expect(await line()).toEqual(['early', 'same-a', 'same-b', 'late']);
    expect(await seen()).toEqual(['early', 'late', 'same-a', 'same-b']);
  });

  test('gives a free key to the first in the queue only, which leaves the queue', async () => {
    await arrange.foreign();
    await position('first', 1);
    await position('second', 2);
    await justNow('first');
    await master.command('del', 'k');
    expect(await position('second', 2)).toBe(1);
    expect(await ownership()).toBe(null);
    expect(await enter('first', 1)).toEqual([1, 0]);
    expect(await line()).toEqual(['second']);
    expect(await seen()).toEqual(['second']);
  });

  test('refuses those that do not wait, and keeps no position for them', async () => {
    await arrange.foreign();
    await position('first', 1);
    await justNow('first');
    await master.command('del', 'k');
    expect(await acquire('us', 30_000, 0)).toEqual(refused('', 0));
    expect(await line()).toEqual(['first']);
  });

  test('drops a waiter that gave no sign of life for three seconds', async () => {
    await arrange.foreign();
    await position('dead', 1);
    await position('alive', 2);
    const [seconds] = (await master.command('time')) as [string];
    await master.command('zadd', 'w', (Number(seconds) - 4) * 1_000, 'dead');
    expect(await position('alive', 2)).toBeLessThan(16_384);
    expect([await line(), await seen()]).toEqual([['alive'], ['alive']]);
  });

  test('expires by itself', async () => {
    await arrange.foreign();
    await position('first', 1);
    expect(await pttl('q')).toSatisfy((left) => Number(left) > 9_000 && Number(left) <= 10_000);
    expect(await pttl('w')).toSatisfy((left) => Number(left) > 9_000 && Number(left) <= 10_000);
  });

  test('a rollback keeps the position, a release gives it up', async () => {
    await arrange.ours();
    expect(await rollback('us', 'me', 5)).toBe(1);
    expect([await ownership(), await line()]).toEqual([null, ['me']]);
    expect(await rollback('us', 'me')).toBe(-1);
    expect(await master.keys()).toEqual([]);
  });
});

describe.each(texts)('%s: which waiter is woken', (_, parts) => {
  const { acquire, release } = callsOf(parts);
  const { position, rollback } = waitingWith(parts);

  test.each([
    ['a release', () => release('them', 0), 1],
    ['a free key that another asks for', () => acquire('us', 30_000, 0), 1],
    ['the release of a key that is kept', () => release('them', 5_000), 1],
    ['the release of another', () => release('us', 0), 0],
    ['a free key that is released once more', () => release('them', 0), 0],
  ])('%s wakes the first in the queue, and no other', async (title, act, count) => {
    await arrange.foreign();
    await position('second', 2);
    await position('first', 1);
    if (title.startsWith('a free key')) await master.command('del', 'k');
    await longAgo('first');
    const calls: string[] = [];
    const stop = await master.hear(['{k}:wake:first', '{k}:wake:second'], (channel) =>
      calls.push(channel),
    );
    await act();
    await stop();
    expect(calls).toEqual(Array.from({ length: count }, () => '{k}:wake:first'));
  });

  test('does not wake again what has just asked', async () => {
    await arrange.foreign();
    await position('first', 1);
    await justNow('first');
    await master.command('del', 'k');
    const calls: string[] = [];
    const stop = await master.hear(['{k}:wake:first'], (channel) => calls.push(channel));
    await acquire('us', 30_000, 0);
    await stop();
    expect([calls, await line()]).toEqual([[], ['first']]);
  });

  test('passes over a waiter that does not listen, and wakes the next', async () => {
    for (const act of [() => release('them', 0), () => position('last', 4)]) {
      await arrange.foreign();
      for (const [arrival, id] of ['dead', 'missing', 'alive', 'last'].entries())
        await position(id, arrival);
      await longAgo('dead', 'missing', 'alive');
      if (act.toString().includes('position')) await master.command('del', 'k');
      const calls: string[] = [];
      const stop = await master.hear(['{k}:wake:alive', '{k}:wake:last'], (channel) =>
        calls.push(channel),
      );
      await act();
      await stop();
      expect([calls, await line()]).toEqual([['{k}:wake:alive'], ['alive', 'last']]);
      await master.command('flushall');
    }
  });

  test('a release wakes none where the first in the queue releases', async () => {
    await arrange.foreign();
    await position('me', 1);
    await position('other', 2);
    const calls: string[] = [];
    const stop = await master.hear(['{k}:wake:me', '{k}:wake:other'], (channel) =>
      calls.push(channel),
    );
    await rollback('them', 'me', 1);
    await stop();
    expect([calls, await line()]).toEqual([[], ['me', 'other']]);
  });
});

function about16Digits() {
  return expect.toSatisfy(
    (fence: number) => String(fence).length === 16,
    'a number of sixteen digits',
  );
}

test('an attempt, its mark and its release fit into what Redis reads at once', () => {
  // Else a slow server drops the release of a run that has ended, where it speaks by unix socket.
  const names = ['mark', 'acquire', 'release'] as const;
  const bytes = names.reduce((sum, name) => sum + shortLua(scriptOf(name, false).text).length, 0);
  const bytesBeside = 1_500;
  expect(bytes + bytesBeside).toBeLessThan(16_384);
});
