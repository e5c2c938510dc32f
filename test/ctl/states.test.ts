// Masters in known states: what status and list print, as text and as JSON, and how they exit.

import { mkdtempSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { userName } from '../../src/system/caller.ts';
import { useMasters } from '../cli/rig.ts';
import { startMasters, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { answerOf, ctl, hold, holderOfNote, newValue, queueUp } from './rig.ts';

const { masters, run, start } = useMasters(3);
const all = () => masters as [TestMaster, TestMaster, TestMaster];
const key = 'redlock:deploy';

interface Expected {
  readonly code: number;
  readonly headline: RegExp;
  readonly lock: object;
  /** The line of `list`; null: not listed. */
  readonly row: RegExp | null;
  readonly listCode?: number;
}

async function expectState(
  places: readonly { url: string }[],
  expected: Expected,
  env: Record<string, string> = {},
) {
  const [status, list] = await Promise.all([
    answerOf(places, ['status', 'deploy'], { env }),
    answerOf(places, ['list'], { env }),
  ]);
  expect(status.text.split('\n')[0]).toMatch(expected.headline);
  expect(status.json.locks).toEqual([
    expect.objectContaining({ name: 'deploy', ...expected.lock }),
  ]);
  expect(status.code).toBe(expected.code);
  expect(list.code).toBe(expected.listCode ?? 0);
  if (expected.row === null) expect(list).toMatchObject({ text: '', json: { locks: [] } });
  else {
    expect(list.text.split('\n')[1]).toMatch(expected.row);
    expect(list.json.locks).toEqual([
      expect.objectContaining({ name: 'deploy', ...expected.lock }),
    ]);
  }
}

const votes = (...kinds: string[]) => kinds.map((vote) => expect.objectContaining({ vote }));

test('free', async () => {
  const lock = {
    state: 'free',
    masters: 3,
    quorum: 2,
    holders: [],
    queue: [],
    fence: null,
    votes: votes('free', 'free', 'free'),
  };
  await expectState(masters, { code: 0, headline: /^"deploy": free$/, lock, row: null });
});

test('held: by which holder, on which masters, with which fence', async () => {
  const { claim, fence } = await hold(masters, 'deploy');
  const lock = {
    state: 'held',
    holders: [expect.objectContaining({ ...holderOfNote, votes: 3 })],
    fence,
    remainingMs: expect.toSatisfy((ms: number) => ms > 40_000 && ms <= 60_000),
    votes: votes('held', 'held', 'held'),
    queue: [],
  };
  const headline = new RegExp(
    '^"deploy": held by ops@web1, pid 4711, deploy.sh, since 2026-11-21T02:00:00.314Z; ' +
      'on 3 of 3 masters; lease ends in (?:[45]\\d(?:\\.\\d)?|60)s unless extended$',
  );
  await expectState(masters, {
    code: 75,
    headline,
    lock,
    row: /^deploy +held +3\/3 +(?:[45]\d(?:\.\d)?|60)s +ops@web1 4711 deploy.sh$/,
  });
  const { text } = await answerOf(masters, ['status', 'deploy']);
  expect(text).toContain(`\n  token ${claim.token}, fence ${fence}\n`);
});

test("another library's string, without an expiry", async () => {
  await Promise.all(masters.map((master) => master.command('set', key, 'c3VwZXI')));
  const lock = {
    state: 'held',
    holders: [
      {
        kind: 'string',
        token: 'c3VwZXI',
        host: null,
        pid: null,
        user: null,
        since: null,
        label: null,
        note: null,
        url: null,
        forPid: null,
        slot: null,
        votes: 3,
        endedAt: null,
      },
    ],
    remainingMs: null,
    fence: null,
  };
  const headline = new RegExp(
    '^"deploy": held by another program \\(value c3VwZXI\\); ' +
      'on 3 of 3 masters; it never expires by itself$',
  );
  await expectState(masters, {
    code: 75,
    headline,
    lock,
    row: /^deploy +held +3\/3 +for ever +another program: c3VwZXI$/,
  });
});

test('a hash of another library', async () => {
  await Promise.all(masters.map((master) => master.command('hset', key, 'id', 1)));
  const lock = {
    state: 'held',
    holders: [expect.objectContaining({ kind: 'hash', token: null, votes: 3 })],
  };
  const headline = new RegExp(
    '^"deploy": held by another program \\(a key of type hash\\); ' +
      'on 3 of 3 masters; it never expires by itself$',
  );
  await expectState(masters, {
    code: 75,
    headline,
    lock,
    row: /^deploy +held +3\/3 +for ever +another program: a hash$/,
  });
  expect((await answerOf(masters, ['status', 'deploy'])).text).not.toContain('\n\n\n');
});

test('kept after its run by --hold-at-least: ended, and how long it is kept', async () => {
  await run(['--hold-at-least', '1m', 'deploy', '--', 'true']);
  const { code, text, json } = await answerOf(masters, ['status', 'deploy']);
  expect(code).toBe(75);
  expect(text).toMatch(
    new RegExp(
      '^"deploy": held by .*, true, since \\S+, ended \\S+; ' +
        'on 3 of 3 masters; kept for another (5\\d|60)',
    ),
  );
  const [holder] = json.locks[0].holders;
  expect(Math.abs(Date.parse(holder.endedAt) - Date.parse(holder.since))).toBeLessThan(10_000);
  const listed = await answerOf(masters, ['list']);
  expect(listed.text).toMatch(/^deploy +held +3\/3 +\S+ +ended: /m);
  expect(listed.json.locks[0].holders).toEqual([holder]);
  const { stdout } = await ctl(masters, ['break', 'deploy', '--yes']);
  expect(stdout).toMatch(/removed on 3 of 3 masters; nothing is stopped: its run has ended\n$/);
});

test('shared and kept after one run: the other goes on', async () => {
  await run(['--shared', '--hold-at-least', '1m', 'deploy', '--', 'true']);
  const reader = start(['--shared', 'deploy', '--', 'sh', '-c', 'echo ready; exec sleep 60']);
  await reader.says('stdout', /ready/);
  expect((await ctl(masters, ['status', 'deploy'])).stdout).toMatch(
    /^"deploy": shared by 2, 1 ended; /,
  );
  expect((await ctl(masters, ['list'])).stdout).toMatch(/^deploy .* shared by 2, 1 ended$/m);
  reader.signal('SIGTERM');
  await reader.result;
});

test('an orphan on one master keeps no client out', async () => {
  await all()[1].command('set', key, newValue(), 'px', 60_000);
  const lock = {
    state: 'orphan',
    holders: [expect.objectContaining({ ...holderOfNote, votes: 1 })],
    votes: votes('free', 'held', 'free'),
  };
  const headline = new RegExp(
    '^"deploy": free; a remainder on 1 of 3 masters, ' +
      'fewer than the quorum of 2, keeps no client out$',
  );
  await expectState(masters, {
    code: 0,
    headline,
    lock,
    row: /^deploy +orphan +1\/3 +\d+(\.\d)?s +ops@web1 4711 deploy.sh$/,
  });
});

test('a split: each master shows another holder', async () => {
  for (const master of masters) await master.command('set', key, newValue(), 'px', 60_000);
  const lock = {
    state: 'split',
    holders: [1, 1, 1].map((count) => expect.objectContaining({ votes: count })),
  };
  const headline = new RegExp(
    '^"deploy": split: no quorum of 2 shows one holder, and none is free: ' +
      'it cannot be acquired; lease ends in',
  );
  await expectState(masters, { code: 75, headline, lock, row: /^deploy +split +1\/3 / });
});

test('a wait queue of five, in order', async () => {
  await hold(masters, 'deploy');
  const leave = await queueUp(masters, 'deploy', 5);
  const queue = [1, 2, 3, 4, 5].map((position) =>
    expect.objectContaining({
      position,
      id: expect.stringMatching(/^waiter[1-5]$/),
      waitedMs: expect.any(Number),
    }),
  );
  const headline = / unless extended; 5 waiting$/;
  await expectState(masters, {
    code: 75,
    headline,
    lock: { state: 'held', queue },
    row: /^deploy +held +3\/3 +\S+ +5 +ops/,
  });
  const { json, text } = await answerOf(masters, ['status', 'deploy']);
  const waits = json.locks[0].queue.map(({ waitedMs }: { waitedMs: number }) => waitedMs);
  expect(waits).toEqual([...waits].sort((a, b) => b - a));
  expect(text).toMatch(/\nPOSITION +WAITING FOR +WAITER\n1 +\S+ +waiter\d\n2 /);
  await leave();
});

test('a waiter is shown with its user, host, pid and command', async () => {
  await hold(masters, 'deploy');
  const waiter = start(['-v', 'deploy', '--', 'sleep', '1']);
  await waiter.says('stderr', /in the queue/);
  const { json, text } = await answerOf(masters, ['status', 'deploy']);
  const { host, user, label, pid } = json.locks[0].queue[0];
  expect({ host, user, label, pid }).toEqual({
    host: os.hostname(),
    user: userName(),
    label: 'sleep',
    pid: waiter.pid,
  });
  expect(text).toContain(`${user}@${host}, pid ${pid}, sleep`);
  waiter.signal('SIGTERM');
  await waiter.result;
});

test('a dead waiter is not in the queue', async () => {
  await hold(masters, 'deploy');
  const longAgo = Date.now() - 60_000;
  for (const master of masters) {
    await master.command('zadd', `{${key}}:queue`, longAgo * 1000, 'dead');
    await master.command('zadd', `{${key}}:waiters`, longAgo, 'dead');
  }
  expect((await answerOf(masters, ['status', 'deploy'])).json.locks[0].queue).toEqual([]);
});

test('one master frozen: held all the same, with the failure of that master', async () => {
  await hold(masters, 'deploy');
  await all()[2].freeze();
  const failure = { cause: 'timeout', message: 'no answer within 1500 ms' };
  const lock = {
    state: 'held',
    votes: [
      ...votes('held', 'held'),
      expect.objectContaining({ master: all()[2].url, vote: 'failed', failure }),
    ],
  };
  await expectState(masters, {
    code: 75,
    headline: /held by .* on 2 of 3 masters/,
    lock,
    row: /^deploy +held +2\/3 /,
  });
});

test('a majority down: unknown, and the visible holder is named', async () => {
  await hold(masters, 'deploy');
  await Promise.all([all()[0].kill(), all()[1].kill()]);
  const headline =
    /^"deploy": unknown: no quorum: only 1 of 3 masters can tell; seen: held by ops@web1, pid 4711/;
  const lock = { state: 'unknown', votes: votes('failed', 'failed', 'held') };
  await expectState(masters, {
    code: 69,
    headline,
    lock,
    row: /^deploy +unknown +1\/3 /,
    listCode: 69,
  });
});

test('masters just restarted do not vote: a job waits although they are free', async () => {
  const headline = /^"deploy": unknown: no quorum: only 0 of 3 masters can tell$/;
  const failure = {
    cause: 'restarted',
    message: expect.stringMatching(/^restarted \d+ s ago .* may have forgotten/),
  };
  const lock = {
    state: 'unknown',
    votes: [1, 2, 3].map(() => expect.objectContaining({ vote: 'failed', failure })),
  };
  await expectState(
    masters,
    { code: 69, headline, lock, row: null },
    { REDLOCK_RESTART_GRACE: '1h' },
  );
});

test('a replica in the list', async () => {
  const [primary, replica] = (await startMasters(2, { transport: 'tcp' })) as [
    TestMaster,
    TestMaster,
  ];
  await replica.command('replicaof', '127.0.0.1', new URL(primary.url).port);
  await eventually('a replica', async () =>
    String(await replica.command('info', 'replication')).includes('role:slave'),
  );
  const message = expect.stringMatching(/^is a replica: .*list independent masters only/);
  const lock = {
    state: 'misconfigured',
    votes: [
      expect.anything(),
      expect.objectContaining({ failure: { cause: 'misconfigured', message } }),
    ],
  };
  const headline = /^"deploy": unknown: a server is in the list of masters that must not be there$/;
  await expectState([primary, replica], { code: 78, headline, lock, row: null, listCode: 78 });
});

test('one server under two addresses', async () => {
  const [first, second] = all();
  const other = join(mkdtempSync(join(first.directory, 'o')), 's');
  symlinkSync(first.url.replace('unix://', ''), other);
  const failure = {
    cause: 'misconfigured',
    message: expect.stringMatching(/^is the same server as unix:.*it would vote twice/),
  };
  const lock = {
    state: 'misconfigured',
    votes: expect.arrayContaining([expect.objectContaining({ failure })]),
  };
  const headline = /^"deploy": unknown: a server is in the list of masters that must not be there$/;
  const places = [first, second, { url: `unix://${other}` }];
  await expectState(places, { code: 78, headline, lock, row: null, listCode: 78 });
});
