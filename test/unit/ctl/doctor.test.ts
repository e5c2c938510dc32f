// The checks of the doctor: a healthy master, and for each check what it says when one fact is
// different. An unknown fact never counts as ok.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type ClockReading, rateOf, readClock } from '../../../src/ctl/doctor/clock-rate.ts';
import { renderFindings } from '../../../src/ctl/doctor/doctor.ts';
import { type MasterFacts, serverVersionOf } from '../../../src/ctl/doctor/facts.ts';
import { findingsOf } from '../../../src/ctl/doctor/findings.ts';
import { masterChecks } from '../../../src/ctl/doctor/master-checks.ts';
import { type SeenSet, setChecks } from '../../../src/ctl/doctor/set-checks.ts';
import type { Failed } from '../../../src/lock/types.ts';
import { parseAddress } from '../../../src/redis/address.ts';

const reading = (at: number, aheadMs: number, uncertaintyMs = 1) => ({
  at,
  aheadMs,
  uncertaintyMs,
});

const healthy: MasterFacts = {
  address: parseAddress('rediss://locker:secret@10.0.0.1:6380'),
  server: { name: 'Redis', version: '7.0.15' },
  runId: 'abc',
  mode: 'standalone',
  role: 'master',
  replication: null,
  replicaCount: 0,
  uptimeMs: 86_400_000,
  isAppending: true,
  fsync: 'always',
  maxMemory: 1_000,
  usedMemory: 100,
  evictionPolicy: 'noeviction',
  bind: '* -::*',
  isProtected: false,
  isOpen: false,
  roundTripsMs: [0.5, 0.6, 0.7],
  clockReadings: [reading(0, 3), reading(1_000, 3)],
  mark: { id: 'm', since: -86_400_000, sets: [] },
  repliedAt: 0,
  refusal: null,
};
const around = {
  restartGraceMs: 0,
  isMarked: false,
  oldestMarkMs: 86_400_000,
  masterTimeoutMs: 1_500,
  isLocal: false,
};

function findingsFor(changes: Partial<MasterFacts>, circumstances = {}) {
  return findingsOf(masterChecks, 'm', { ...healthy, ...around, ...changes, ...circumstances });
}
const lessThanOk = (changes: Partial<MasterFacts>, circumstances = {}) =>
  findingsFor(changes, circumstances)
    .filter(({ grade }) => grade !== 'ok')
    .map(({ check, grade, message }) => `${grade} ${check}: ${message}`);

it('a healthy master is ok in every check, and has nothing to fix', () => {
  expect(lessThanOk({})).toEqual([]);
  expect(findingsFor({}).every(({ why, fix }) => why === null && fix === null)).toBe(true);
});

const open = { isOpen: true, address: parseAddress('redis://127.0.0.1:6379') };
const noAof = { isAppending: false };
const denied = { kind: 'failed', cause: 'denied', message: 'NOPERM' } as const;
const local = { restartGraceMs: 0, isLocal: true };
const grace = { restartGraceMs: 30_000, isMarked: true };
const allNew = { ...grace, oldestMarkMs: 10_000 };
const marked = (forMs: number | null) => ({
  mark: { id: forMs === null ? null : 'm', since: -(forMs ?? 0), sets: [] },
});

test.each<[Partial<MasterFacts>, object, string[]]>([
  [{ roundTripsMs: [900] }, {}, ['warning latency: a round trip takes 900.0 ms']],
  [{ server: { name: 'Redis', version: '5.0.7' } }, {}, ['error version: version 5.0.7']],
  [{ mode: 'cluster' }, {}, ['error mode: runs in cluster mode']],
  [{ role: 'slave' }, {}, ['error role: is a replica']],
  [{ role: 'active-replica' }, {}, ['error role: replicates with other writable servers']],
  [{ replication: 'active-active' }, {}, ['error role: is an Active-Active database']],
  [{ replicaCount: 2 }, {}, ['warning replicas: has 2 replicas']],
  [noAof, {}, ['error restart: keeps nothing over a restart']],
  [{ fsync: 'everysec' }, {}, ['error restart: appendfsync is everysec']],
  [noAof, local, ['warning restart: forgets all locks when it is ended']],
  [noAof, grace, []],
  [
    { ...noAof, uptimeMs: 10_000 },
    grace,
    ['warning restart: restarted 10s ago: does not vote for another 20s'],
  ],
  [{ mark: null }, grace, ['unknown mark: does not show its mark']],
  [marked(10_000), grace, ['warning mark: has lost its mark, or is new: does not vote for 20s']],
  [
    { ...marked(null), uptimeMs: 5_000 },
    grace,
    ['warning mark: has lost its mark, or is new: votes within 30s of the next run'],
  ],
  [
    { ...marked(10_000), uptimeMs: 12_000 },
    allNew,
    ['warning mark: is new, or was emptied with the others: does not vote for 20s'],
  ],
  [marked(10_000), allNew, []],
  [marked(null), { ...grace, oldestMarkMs: 0 }, []],
  [{ evictionPolicy: 'allkeys-lru' }, {}, ['error eviction: maxmemory-policy is allkeys-lru']],
  [
    { evictionPolicy: 'volatile-ttl', maxMemory: 0 },
    {},
    ['warning eviction: maxmemory-policy is volatile-ttl, without a maxmemory so far'],
  ],
  [{ usedMemory: 950 }, {}, ['warning memory: 95% of maxmemory is used']],
  [
    { clockReadings: [reading(0, -5_000), reading(1_000, -5_000)] },
    {},
    ['warning clock: its clock is 5s behind ours'],
  ],
  [
    { clockReadings: [reading(0, 0), reading(1_000, 20)] },
    {},
    ['error clockRate: its clock runs 2.00% faster than ours'],
  ],
  [{ clockReadings: [reading(0, 0, 20), reading(1_000, 20, 20)] }, {}, []],
  [
    { clockReadings: [reading(0, 0), reading(1_000, 20), reading(2_000, 20)] },
    {},
    ['unknown clockRate: its clock was set while it was watched'],
  ],
  [{ refusal: denied }, {}, ['error rights: no lock can be kept: NOPERM']],
  [{ address: parseAddress('redis://10.0.0.1') }, {}, ['warning tls: is reached without TLS']],
  [{ isOpen: true }, {}, ['error access: answers every client that reaches its port']],
  [open, {}, ['error access: asks for no password and listens on * -::*']],
  [{ ...open, isProtected: true }, {}, []],
  [{ ...open, bind: '127.0.0.1 -::1' }, {}, []],
  [
    { ...open, bind: null, isProtected: null },
    {},
    ['unknown access: asks for no password, and does not tell where it listens'],
  ],
])('%j %j: %j', (changes, circumstances, expected) => {
  expect(lessThanOk(changes, circumstances)).toEqual(expected);
});

it('does not praise a server that has just come back empty for what it keeps', () => {
  const said = (forMs: number, uptimeMs = 12_000, check = 'restart') =>
    findingsFor({ ...marked(forMs), uptimeMs }, grace).find((one) => one.check === check)?.message;
  expect(said(10_000)).toBe('keeps every change from now on');
  expect(said(60_000)).toBe('keeps every change over a restart, as its mark shows');
  expect(said(60_000, 61_000)).toBe('says that it keeps every change over a restart');
  const before = 'it was new, empty or down before (the oldest: 1d ago)';
  expect(said(60_000, 61_000, 'mark')).toBe(`marked 1m ago: ${before}`);
  expect(said(86_399_000, 61_000, 'mark')).toBe('marked 23h59m59s ago');
});

test.each<[Partial<MasterFacts>, string]>([
  [{ evictionPolicy: 'allkeys-lru' }, 'CONFIG SET maxmemory-policy noeviction'],
  [{ usedMemory: 950 }, 'CONFIG SET maxmemory 1mb'],
  [{ usedMemory: 3e9, maxMemory: 1 }, 'CONFIG SET maxmemory 5723mb'],
])('the fix of %j names no user, because that user may lack the rights', (changes, command) => {
  const fixes = (address: MasterFacts['address']) =>
    findingsFor({ ...changes, address }).flatMap(({ fix }) => fix ?? []);
  expect(fixes(healthy.address)).toEqual([
    `as an administrator: redis-cli -h 10.0.0.1 -p 6380 --tls ${command}`,
  ]);
  expect(fixes(parseAddress('unix:///a'))).toEqual([`redis-cli -s /a ${command}`]);
});

test('making a master durable takes two commands, as version 6 needs them', () => {
  const [fix] = findingsFor({ ...noAof, address: parseAddress('unix:///a') }).flatMap(
    ({ fix }) => fix ?? [],
  );
  const commands =
    'redis-cli -s /a CONFIG SET appendfsync always && redis-cli -s /a CONFIG SET appendonly yes';
  expect(fix).toBe(`set restartGrace to the longest ttl in use, or ${commands}`);
});

const mute = {
  server: null,
  runId: null,
  mode: null,
  replicaCount: null,
  uptimeMs: null,
  isAppending: null,
  maxMemory: null,
};

test('a service that forbids INFO and CONFIG is unknown, not ok', () => {
  const changes = {
    ...mute,
    role: null,
    usedMemory: null,
    evictionPolicy: null,
    fsync: null,
    bind: null,
    isProtected: null,
  };
  const unknown = findingsFor(changes).filter(({ grade }) => grade === 'unknown');
  expect(unknown.map(({ check }) => check)).toEqual([
    'version',
    'mode',
    'role',
    'replicas',
    'restart',
    'eviction',
    'memory',
  ]);
  expect(unknown.every(({ why, fix }) => why !== null && fix !== null)).toBe(true);
  expect(lessThanOk(changes, grace)).toContain('unknown restart: does not tell since when it runs');
});

describe('of the set', () => {
  const seen: SeenSet = {
    masters: [],
    addresses: [],
    configFile: null,
    minorWarnings: [],
    whyUnguarded: null,
  };
  const found = (check: string, changes: Partial<SeenSet>) =>
    findingsOf(setChecks, null, { ...seen, ...changes }).find((one) => one.check === check);
  const ofMasters = (check: string, facts: readonly (MasterFacts | Failed)[], circumstances = {}) =>
    found(check, { masters: facts.map((fact) => ({ ...fact, ...around, ...circumstances })) });

  test.each([
    [1, 'warning', '1 master: none may fail', 'when it fails, no lock can be acquired'],
    [2, 'warning', '2 masters: none may fail', 'as with 1, and there is one more that can fail'],
    [3, 'ok', '3 masters: 1 may fail', null],
    [4, 'warning', '4 masters: 1 may fail', 'as with 3, and there is one more that can fail'],
    [5, 'ok', '5 masters: 2 may fail', null],
  ])('%i masters: %s, %s', (masterCount, grade, message, why) => {
    const addresses = Array.from({ length: masterCount }, () => healthy.address);
    expect(found('count', { addresses })).toMatchObject({ grade, message, why });
  });

  const down = { kind: 'failed', cause: 'timeout', message: 'no answer within 1500 ms' } as const;
  const refusing = { ...healthy, refusal: denied };

  test.each([
    [[healthy, healthy, healthy], 'ok', '3 of 3 masters keep locks, 2 are needed'],
    [[healthy, down, healthy], 'ok', '2 of 3 masters keep locks, 2 are needed'],
    [[healthy, down, down], 'error', 'no quorum: 1 of 3 masters keep locks, 2 are needed'],
    [[healthy, down, refusing], 'error', 'no quorum: 1 of 3 masters keep locks, 2 are needed'],
    [[healthy, healthy, down, down], 'error', 'no quorum: 2 of 4 masters keep locks, 3 are needed'],
  ])('a lock can be had, or not (%#)', (facts, grade, message) => {
    expect(ofMasters('quorum', facts)).toMatchObject({ grade, message });
  });

  const again = { ...healthy, fsync: 'everysec', uptimeMs: 10_000 };
  const emptied = { ...healthy, ...marked(10_000) };
  const fresh = { ...healthy, ...marked(null), uptimeMs: 10_000 };
  test.each([
    [[healthy, again, healthy], 'ok', '3 of 3 masters keep locks, 2 are needed'],
    [[healthy, again, emptied], 'warning', 'no quorum yet: 1 of 3 masters vote, 2 are needed'],
    [[fresh, fresh, fresh], 'warning', 'no quorum yet: 0 of 3 masters vote, 2 are needed'],
    [[healthy, again, down], 'warning', 'no quorum yet: 1 of 3 masters vote, 2 are needed'],
    [[again, down, down], 'error', 'no quorum: 1 of 3 masters keep locks, 2 are needed'],
  ])(
    'a lock can be had only later, where masters do not vote yet (%#)',
    (facts, grade, message) => {
      expect(ofMasters('quorum', facts, grace)).toMatchObject({ grade, message });
    },
  );

  test.each([
    [['10.0.0.1', '10.0.0.2', '10.0.0.3'], 'ok', /each on a host of its own/],
    [['10.0.0.1', '10.0.0.1:6380', '10.0.0.3'], 'warning', /^2 on 10.0.0.1$/],
    [['unix:///a', '127.0.0.1', 'localhost:6380'], 'warning', /^3 on this machine$/],
  ])('%j: %s', (urls, grade, message) => {
    expect(found('hosts', { addresses: urls.map(parseAddress) })).toMatchObject({
      grade,
      message: expect.stringMatching(message),
    });
  });

  it('a server under two addresses, and servers that do not tell a run_id', () => {
    const other = { ...healthy, address: parseAddress('10.0.0.2') };
    const duplicates = (...facts: MasterFacts[]) => ofMasters('duplicates', facts);
    expect(duplicates(healthy, other)).toMatchObject({
      grade: 'error',
      message: expect.stringMatching(/is the same server as/),
    });
    expect(duplicates(healthy, { ...other, runId: 'def' })).toMatchObject({ grade: 'ok' });
    expect(duplicates(healthy, { ...other, runId: null })).toMatchObject({ grade: 'unknown' });
    expect(duplicates({ ...healthy, runId: null }, { ...other, runId: null })).toMatchObject({
      grade: 'unknown',
    });
  });

  it('a file with a readable secret, in whatever words the warning tells of it', () => {
    const even = { kind: 'even-count', file: null, message: 'two', advice: 'add one' } as const;
    const [configFile, minorWarnings] = ['/etc/redlockrc', [even]];
    expect(found('configFile', { configFile, minorWarnings })?.grade).toBe('ok');
    const exposed = { kind: 'exposed-secret', message: 'shown to all', advice: 'hide it' } as const;
    const files = ['/run/pw', '/etc/redlockrc'].map((file) => ({ ...exposed, file }));
    expect(found('configFile', { minorWarnings: [even, ...files] })).toMatchObject({
      grade: 'error',
      message: '/run/pw: shown to all; /etc/redlockrc: shown to all',
      fix: 'chmod 600 /run/pw /etc/redlockrc',
    });
  });
});

it('the rate of a clock is certain only beyond the uncertainty of the round trips', () => {
  expect(rateOf([reading(0, 0, 1), reading(1_000, 20, 1)])).toEqual({
    rate: 0.02,
    certain: expect.closeTo(0.018),
  });
  expect(rateOf([reading(0, 0, 30), reading(1_000, 20, 1)])).toEqual({ rate: 0.02, certain: 0 });
});

it('a clock that was set is off once; one that runs at another rate is off each time', () => {
  const at = (...aheadMs: number[]) =>
    rateOf(aheadMs.map((ms, index) => reading(index * 1_000, ms)));
  expect(at(0, 20, 40)).toEqual({ rate: 0.02, certain: expect.closeTo(0.018) });
  expect(at(0, 20, 50)).toEqual({ rate: 0.02, certain: expect.closeTo(0.018) });
  for (const set of [at(0, 20, 20), at(0, 0, 20), at(0, 20, 0)]) expect(set).toBeNull();
});

it('problems come first, the worst on top, merged over masters; the rest is a table', () => {
  const both = ['m1', 'm2'].flatMap((master) =>
    findingsOf(masterChecks, master, { ...healthy, ...around, role: 'slave', replicaCount: 1 }),
  );
  const text = renderFindings(both)
    .map((line) => `${line.text}\n`)
    .join('');
  expect(text).toMatch(
    new RegExp(
      '^error: role: m1, m2: is a replica\\n {2}why: .*\\n {2}fix: .*\\n\\n' +
        'warning: replicas: m1, m2: has 1 replica\\n',
    ),
  );
  expect(text).toMatch(/\nCHECK +MASTER +RESULT\n/);
  expect(text).toMatch(/^latency +2 masters +a round trip takes 0.6 ms$/m);
  expect(text).toMatch(/\n1 error, 1 warning, no checks unknown, 12 ok\n$/);
});

it('a check that is worse on one master stands with the worst there', () => {
  const of = (check: string, master: string, grade: 'error' | 'warning') => ({
    check,
    master,
    grade,
    message: 'not as it should be',
    why: null,
    fix: null,
  });
  const found = [of('mode', 'm1', 'error'), of('role', 'm1', 'error'), of('mode', 'm2', 'warning')];
  const beginnings = renderFindings(found).map(({ text }) => text.split(':').slice(0, 2).join());
  expect(beginnings.filter((text) => /^(error|warning)/.test(text))).toEqual([
    'error, mode',
    'error, role',
    'warning, mode',
  ]);
});

describe('reading a clock', () => {
  const aheadMs = 5_000;
  const origin = 1_795_246_262_000;

  /**
   * A machine on which so much time passes between two steps, repeating `pauses`. The master's
   * clock runs at `rate`. Returns readings a second apart.
   */
  async function readOn(pauses: readonly number[], count = 1, rate = 0) {
    let [nowMs, step] = [origin, 0];
    const pass = () => {
      nowMs += pauses[step % pauses.length] ?? 0;
      step += 1;
    };
    const now = () => {
      pass();
      const seen = nowMs;
      pass();
      return seen;
    };
    const askTime = async () => {
      pass();
      const ms = nowMs + aheadMs + (nowMs - origin) * rate;
      pass();
      return [String(Math.floor(ms / 1000)), String(Math.floor((ms % 1000) * 1000))];
    };
    const readings = [];
    for (let index = 0; index < count; index += 1) {
      const read = await readClock(askTime, now);
      if ('kind' in read) throw new Error(read.message);
      readings.push(read.reading);
      nowMs += 1_000;
    }
    return readings;
  }

  test.each([
    [[0.1]],
    [[30, 0.1, 0.1]],
    [[0.1, 30, 0.1, 0.1]],
    [[0, 0, 0, 0, 40, 0, 0]],
    [[7, 50, 1, 0, 0.5, 120]],
  ])(
    'is as far from ours as it is said to be, within the error that is said (%j)',
    async (pauses) => {
      const [reading] = (await readOn(pauses)) as [ClockReading];
      expect(Math.abs(reading.aheadMs - aheadMs)).toBeLessThanOrEqual(reading.uncertaintyMs);
    },
  );

  const anyPauses = fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { minLength: 1 });

  it('never takes a busy machine for a clock that runs at another rate', async () => {
    await fc.assert(
      fc.asyncProperty(anyPauses, async (pauses) => {
        expect(rateOf(await readOn(pauses, 2))?.certain).toBeCloseTo(0, 5);
      }),
    );
  });

  it('finds a clock that runs at another rate, on a machine with little to do', async () => {
    expect(rateOf(await readOn([0.1], 3, 0.03))?.certain).toBeGreaterThan(0.02);
    expect(rateOf(await readOn([0.1], 3, -0.03))?.certain).toBeLessThan(-0.02);
  });

  test.each([
    [null],
    [[]],
    [['1']],
    [['a', 'b']],
    ['OK'],
    [[['1'], ['2']]],
    [['1795246262', '99999999']],
    [['9'.repeat(30), '0']],
  ])('%j is no time of day', async (reply) => {
    expect(await readClock(async () => reply)).toMatchObject({ kind: 'failed', cause: 'reply' });
  });
});

test.each([
  [{ redis_version: '7.0.15' }, { name: 'Redis', version: '7.0.15' }],
  [
    { redis_version: '7.2.4', valkey_version: '9.1.2', server_name: 'valkey' },
    { name: 'Valkey', version: '9.1.2' },
  ],
  [{ redis_version: '8.0-m01' }, { name: 'Redis', version: '8.0' }],
  [{ redis_version: '\u001b[31mred' }, null],
  [{ redis_version: `7.${'0'.repeat(50)}` }, null],
  [{}, null],
])('%j is %j', (info, server) => {
  expect(serverVersionOf(info)).toEqual(server);
});
