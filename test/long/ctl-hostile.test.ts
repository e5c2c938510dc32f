// Masters that answer anything: a minority of them counts as failed and is named; with a majority
// there is no quorum. Nothing that a server says acts on a terminal or goes on for ever.

import { beforeEach, describe, expect, test } from 'vitest';
import { useMasters } from '../cli/rig.ts';
import { ctl as called, newValue, queryOf, startedCtl } from '../ctl/rig.ts';
import {
  behind,
  bulk,
  echo,
  type HostileMaster,
  info,
  list,
  type Reply,
  startHostile,
  strangeReplies,
} from '../servers/hostile-master.ts';
import { generous } from '../servers/patience.ts';
import type { CliResult } from '../servers/run-cli.ts';

const { masters } = useMasters(2);
const key = 'redlock:deploy';
const value = newValue();
const token = value.slice(0, value.indexOf(' '));

beforeEach(async () => {
  for (const master of masters) await master.command('set', key, value, 'px', 600_000);
});

type Place = { readonly url: string };

const ctl = (those: readonly Place[], ...args: string[]) => called(those, args);
const json = ({ stdout }: CliResult) => JSON.parse(stdout);

/** The characters that act on a terminal, without line breaks. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const acting = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

function isFine({ code, stdout, stderr }: CliResult, codes: readonly number[]): void {
  expect(`${stdout}${stderr}`).not.toMatch(/bug:|\n {4}at |undefined|\[object|NaN/);
  expect(`${stdout}${stderr}`).not.toMatch(acting);
  expect(codes).toContain(code);
}

const nested = (depth: number) => `${'*1\r\n'.repeat(depth)}:1\r\n`;
const shapes: readonly (readonly [name: string, reply: Reply])[] = [
  ['nil', () => '$-1\r\n'],
  ['a nil list', () => '*-1\r\n'],
  ['the null of RESP3', () => '_\r\n'],
  ['a length below zero', () => '$-5\r\n'],
  [':1', () => ':1\r\n'],
  [':0', () => ':0\r\n'],
  ['a number below zero', () => ':-7\r\n'],
  ['a huge number', () => ':99999999999999999999999\r\n'],
  ['an empty list', () => '*0\r\n'],
  ['a list of empty lists', () => list('*0\r\n', '*0\r\n')],
  ['a list of nothing', () => list(...Array(6).fill('$-1\r\n'))],
  ['a page of keys that are numbers', () => list(bulk('0'), list(':1\r\n', ':2\r\n'))],
  ['a page of a cursor that is none', () => list(bulk('x'), '*0\r\n')],
  [
    'a lock with texts for numbers',
    () => list(list(bulk('string'), bulk(value), bulk('x'), '$-1\r\n', '*0\r\n', '*0\r\n')),
  ],
  [
    'a lock with half a waiter',
    () => list(list(bulk('string'), bulk(value), ':9\r\n', '$-1\r\n', list(bulk('w')), '*0\r\n')),
  ],
  ['a time of day that is none', () => list(bulk('x'), bulk('y'))],
  ['a history without a time', () => list(':1\r\n', ':5\r\n', list(list(bulk('{}')), list()))],
  ['OK', () => '+OK\r\n'],
  ['text', () => bulk('text')],
  ['an empty text', () => bulk('')],
  ['an error', () => '-ERR nothing today\r\n'],
  ['an error without words', () => '-\r\n'],
  ['an echo', echo],
  ['lists in lists', () => nested(1_000)],
  ['true', () => '#t\r\n'],
  ['a fraction', () => ',1.5\r\n'],
  ['a map', () => '%1\r\n+kind\r\n+failed\r\n'],
  ['what is no protocol', () => 'HTTP/1.1 400 Bad Request\r\n\r\n'],
];

const verbs: readonly (readonly [words: readonly string[], codes: readonly number[]])[] = [
  [['status', 'deploy'], [75]],
  [['status', 'deploy', '--json'], [75]],
  [['list'], [0]],
  [['history'], [0]],
  [['history', 'deploy', '--since', '1d'], [0]],
  [['check', 'deploy', '--token', token], [0]],
  [['extend', 'deploy', '--token', token, '--ttl', '10m'], [0]],
  [['acl'], [0]],
  [['acquire', 'deploy', '-n'], [75]],
  [['completion', 'words', '--', 'redlockctl', 'status', ''], [0]],
  [['break', 'deploy', '--yes'], [0]],
  [['release', 'deploy', '--token', 'none'], [79]],
];

/** The verbs that ask most; the others get no further with a server that identifies itself. */
const lookingVerbs = verbs.filter(([[verb = '']]) => ['status', 'history', 'break'].includes(verb));

describe.each([
  ['to everything', (reply: Reply) => reply, verbs],
  ['to all but INFO and ROLE', behind, lookingVerbs],
] as const)('one master of three answers %s', (_, shaped, verbs) => {
  test.each(shapes)('%s', async (_, reply) => {
    const hostile = await startHostile(shaped(reply));
    for (const [args, codes] of verbs) isFine(await ctl([hostile, ...masters], ...args), codes);
    expect(await Promise.all(masters.map((master) => master.get(key)))).toEqual([null, null]);
  });
});

test.each(shapes)(
  'the doctor, of a master that answers %s',
  { timeout: generous(120_000) },
  async (_, reply) => {
    const hostile = await startHostile(reply);
    const answer = await ctl([hostile, ...masters], 'doctor', '--json');
    isFine(answer, [78]);
    const grades = json(answer).findings.flatMap(
      (finding: { master: string; check: string; grade: string }) =>
        finding.master === hostile.url && ['reachable', 'rights'].includes(finding.check)
          ? [finding.grade]
          : [],
    );
    expect(grades).toContain('error');
  },
);

test.each(Object.entries(strangeReplies))(
  'the doctor, of a master that answers %s to all but INFO and ROLE',
  { timeout: generous(120_000) },
  async (_, bytes) => {
    const hostile = await startHostile(behind(() => bytes || '+OK\r\n'));
    isFine(await ctl([hostile, ...masters], 'doctor', '--json'), [78]);
  },
);

test('a master that answers nonsense is named, and its vote is a failed one', async () => {
  const hostile = await startHostile(behind(() => '+OK\r\n'));
  const those = [hostile, ...masters];
  const [lock] = json(await startedCtl(those, ['status', 'deploy', '--json'])).locks;
  expect(lock).toMatchObject({
    state: 'held',
    votes: [{ vote: 'failed' }, { vote: 'held' }, { vote: 'held' }],
  });
  expect(lock.votes[0].failure.message).toMatch(/^unexpected reply: /);
  const { stderr } = await startedCtl(those, ['list']);
  expect(stderr).toMatch(`redlockctl: ${hostile.url}: unexpected reply: `);
});

test.each([
  ['OK', () => '+OK\r\n'],
  ['an echo', echo],
  ['nil', () => '$-1\r\n'],
] as const)(
  'two of three that answer %s to everything are no quorum',
  { timeout: generous(60_000) },
  async (_, reply) => {
    const those = [await startHostile(reply), await startHostile(reply), ...masters.slice(0, 1)];
    const [status, listed, history, broken] = [
      await ctl(those, 'status', 'deploy'),
      await ctl(those, 'list'),
      await ctl(those, 'history'),
      await ctl(those, 'break', 'deploy', '--yes'),
    ];
    for (const answer of [status, listed, history, broken]) isFine(answer, [69]);
    expect(status.stdout).toMatch(/^"deploy": unknown: no quorum: only 1 of 3 masters can tell/);
    expect(broken.stderr).toMatch(/no-quorum: "deploy"/);
    expect(await masters[0]?.get(key)).toBe(value);
  },
);

const evil = '\u001b]0;PWNED\u0007\u001b[31m\u009b31m\u007f\u202e\u200f\u2066\ufeff\u2028';

describe('what a server says', () => {
  const says: readonly (readonly [name: string, reply: Reply])[] = [
    [
      'in errors',
      (args) =>
        /^(info|role)$/i.test(args[0] ?? '') ? null : `-ERR ${evil}${'x'.repeat(5_000)}\r\n`,
    ],
    [
      'in INFO, ROLE and CONFIG',
      (args) => {
        if (/^info$/i.test(args[0] ?? '')) {
          const fields = [
            'redis_version',
            'redis_mode',
            'maxmemory_policy',
            'run_id',
            'uptime_in_seconds',
          ];
          return info({
            ...Object.fromEntries(fields.map((field) => [field, evil])),
            maxmemory: evil,
            used_memory: evil,
          });
        }
        if (/^role$/i.test(args[0] ?? '')) return list(bulk(evil));
        if (/^config$/i.test(args[0] ?? '')) return list(bulk(args[2] ?? ''), bulk(evil));
        if (/^time$/i.test(args[0] ?? ''))
          return list(bulk(String(Math.floor(Date.now() / 1000))), bulk('0'));
        if (/^ping$/i.test(args[0] ?? '')) return '+PONG\r\n';
        return '*0\r\n';
      },
    ],
    [
      'in names and values',
      behind((args) => {
        if (/^scan$/i.test(args[0] ?? '')) return list(bulk('0'), list(bulk(`redlock:${evil}`)));
        return list(
          list(bulk(evil), bulk(evil), ':9\r\n', bulk(evil), list(bulk(evil), ':1\r\n'), '*0\r\n'),
        );
      }),
    ],
  ];

  test.each(says)('%s acts neither as text nor in JSON', async (_, reply) => {
    const greeting = behind(() => null);
    const [hostile] = [
      await startHostile((args, socket) => reply(args, socket) ?? greeting(args, socket)),
    ];
    const all = [
      ['status', 'deploy'],
      ['list'],
      ['history'],
      ['doctor'],
      ['acl'],
      ['break', 'deploy', '--yes'],
    ];
    for (const args of all) {
      for (const more of [[], ['--json']]) {
        const answer = await ctl([hostile as HostileMaster], ...args, ...more);
        isFine(answer, [0, 69, 75, 78]);
        for (const line of answer.stderr.split('\n')) expect(line.length).toBeLessThan(1_000);
      }
    }
  });

  test('names a server by version and mode, also a Valkey in a cluster', async () => {
    const valkey = {
      valkey_version: '9.1.2',
      server_name: 'valkey',
      server_mode: 'cluster',
      redis_version: '7.2.4',
      redis_mode: null,
    };
    const time = () => list(bulk(String(Math.floor(Date.now() / 1000))), bulk('0'));
    const greeting = behind(() => '*0\r\n');
    const hostile = await startHostile((args, socket) => {
      if (/^info$/i.test(args[0] ?? '')) return info(valkey);
      return /^time$/i.test(args[0] ?? '') ? time() : greeting(args, socket);
    });
    const { findings } = json(await ctl([hostile], 'doctor', '--json'));
    const said = (check: string) =>
      findings.find((finding: { check: string }) => finding.check === check);
    expect(said('mode')).toMatchObject({ grade: 'error', message: 'runs in cluster mode' });
    expect(said('version')).toMatchObject({ grade: 'ok', message: 'Valkey 9.1.2' });
    expect((await ctl([hostile], 'acl')).stderr).toMatch(/for Valkey 9\.1\.2 /);
  });
});

/** The reply of a server without locks to the script that looks. */
const nothingAt = ([, , keyCount]: readonly string[]) => {
  const [none, no] = ['$-1\r\n', ':-2\r\n'];
  const named = { type: bulk('none'), value: none, ttl: no, fence: none, queue: list() };
  const more = { holders: list(), freeze: none, freezeTtl: no, endings: list() };
  const fields = Object.entries({ ...named, ...more });
  const nothing = list(...fields.flatMap(([name, value]) => [bulk(name), value]));
  return list(...Array<string>(Math.floor(Number(keyCount ?? 0) / 7) || 0).fill(nothing));
};

describe('a server that has always another page of names', () => {
  let pageCount = 0;
  const endlessOf = (length: number) =>
    behind((args) => {
      pageCount += 1;
      if (!/^scan$/i.test(args[0] ?? '')) return nothingAt(args);
      const names = Array.from({ length: 1_000 }, (_, at) =>
        bulk(`redlock:${`${pageCount}-${at}`.padEnd(length, 'x')}`),
      );
      return list(bulk(String(pageCount)), list(...names));
    });
  const endless = endlessOf(0);
  // After a pause: the ten seconds are to be waited for, and not computed through.
  const repeating = behind((args, socket) => {
    if (!/^scan$/i.test(args[0] ?? '')) return nothingAt(args);
    setTimeout(() => socket.write(list(bulk('7'), list(bulk('redlock:a')))), 100);
    return null;
  });

  test.each([
    ['names', 0, 100_000],
    ['characters', 2_000, 10_000],
  ])('is cut off after so many %s, and that is told', async (_, length, count) => {
    const hostile = await startHostile(endlessOf(length));
    // A slow machine needs more than the ten seconds of the next test.
    const query = queryOf([hostile, ...masters]);
    expect(await query.namesOf('locks', '*', generous(10_000))).toHaveLength(count + 1);
    expect(query.failureLines()).toEqual([
      `${hostile.url}: has more than ${count} names: cut off, names may be missing`,
    ]);
    query.close();
  });

  test('is given up after ten seconds, and that is told', async () => {
    const hostile = await startHostile(repeating);
    const { code, stdout, stderr } = await ctl([hostile, ...masters], 'list');
    expect(stderr).toMatch(
      `${hostile.url}: has not listed all of its names within 10s: cut off, names may be missing`,
    );
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('deploy') });
  });

  test.each([
    ['endless', endless],
    ['repeating', repeating],
  ])('does not delay completion (%s)', async (_, reply) => {
    const hostile = await startHostile(reply);
    const args = ['completion', 'words', '--', 'redlockctl', 'status', 'dep'];
    const { code, stdout } = await ctl([hostile, ...masters], ...args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'deploy\n' });
  });
});
