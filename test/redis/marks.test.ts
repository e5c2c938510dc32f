// The rows of docs/masters.md about marks, on real servers: what takes a mark away, brings an old
// one back, or puts several on one server.

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { temporaryFolder } from '../servers/temporary.ts';
import { failed, handleOn, lasting, newClaim, redlockOn } from './rig.ts';

const markKey = '{}:mark';
const graceMs = 3_000;
const graced = { restartGraceMs: graceMs };
const hour = { restartGraceMs: 3_600_000 };
const lostIts = failed(
  'restarted',
  /^(restarted \d+ s ago and )?was found without its mark \d+ s ago /,
);

let masters: TestMaster[] = [];
beforeAll(async () => {
  masters = await startMasters(3, { persist: true });
  await eventually(
    'they have run for longer than the grace',
    async () => (await Promise.all(masters.map(uptime))).every((ms) => ms > graceMs + 1_000),
    generous(10_000),
  );
});
beforeEach(() => Promise.all(masters.map((master) => master.flush())));
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

async function uptime(master: TestMaster): Promise<number> {
  const info = String(await master.command('info', 'server'));
  return 1_000 * Number(/uptime_in_seconds:(\d+)/.exec(info)?.[1] ?? 0);
}

const haveMarks = async (those: readonly TestMaster[]) =>
  (await Promise.all(those.map((one) => one.command('exists', markKey)))).every(Boolean);

/** Acquires on two masters, and is told why the emptied one did not vote. */
async function expectLost(emptied: TestMaster): Promise<void> {
  const { redlock, events } = redlockOn(masters, graced);
  const claim = newClaim();
  expect(await redlock.attempt(claim, lasting)).toMatchObject({ kind: 'acquired' });
  await eventually('it is told', () => events.some(({ kind }) => kind === 'master-failing'));
  const failing = events.filter(({ kind }) => kind === 'master-failing');
  expect(failing).toEqual([{ kind: 'master-failing', master: emptied.url, failed: lostIts }]);
  await redlock.release(claim, 0, null);
  await redlock.settled();
}

test('the first run on servers in use: votes at once, as after FLUSHALL on all', async () => {
  for (const round of ['first', 'flushed']) {
    for (const master of masters) await master.flush();
    const { redlock, events } = redlockOn(masters, graced);
    const claim = newClaim({ resources: [round] });
    expect(await redlock.attempt(claim, lasting), round).toMatchObject({ kind: 'acquired' });
    await redlock.release(claim, 0, null);
    await redlock.settled();
    expect(events.filter(({ kind }) => kind === 'master-failing')).toEqual([]);
    expect(await haveMarks(masters)).toBe(true);
  }
});

test('FLUSHALL on one of three: it has no vote for one grace', async () => {
  for (const master of masters) await master.markLongAgo('');
  const [first] = masters as [TestMaster];
  await first.flush();
  await expectLost(first);
});

test('an evicted mark: the master has no vote for one grace', async () => {
  for (const master of masters) await master.markLongAgo('');
  const [first] = masters as [TestMaster];
  await first.command('config', 'set', 'maxmemory-policy', 'allkeys-random');
  await first.command('config', 'set', 'maxmemory', 2_000_000);
  const filling = 'x'.repeat(10_000);
  for (let count = 0; await haveMarks([first]); count += 1)
    await first.command('set', `fill${count}`, filling);
  await first.command('config', 'set', 'maxmemory', 0);
  await expectLost(first);
});

test('an old backup votes at once, without the locks since; so DEL the mark', async () => {
  // Its folder has no socket in it, so that it can be copied.
  const [master] = (await startMasters(1, { persist: true, transport: 'tcp' })) as [TestMaster];
  await master.markLongAgo('');
  const backup = mkdtempSync(join(temporaryFolder(), 'backup-'));
  await master.kill();
  cpSync(master.directory, backup, { recursive: true });
  await master.restart();
  expect(await handleOn(master, hour).acquire(newClaim(), lasting)).toMatchObject({
    kind: 'granted',
  });
  const restore = async () => {
    await master.kill();
    rmSync(master.directory, { recursive: true });
    cpSync(backup, master.directory, { recursive: true });
    await master.restart();
  };
  await restore();
  // What masters.md warns of: the same lock, a second time.
  expect(await handleOn(master, hour).acquire(newClaim(), lasting)).toMatchObject({
    kind: 'granted',
  });
  await restore();
  await master.command('del', markKey);
  expect(await handleOn(master, hour).acquire(newClaim(), lasting)).toEqual(lostIts);
  rmSync(backup, { recursive: true });
  await master.stop();
});

test('a longer ttl than the grace, and a master emptied under it: held twice', async () => {
  for (const master of masters) await master.markLongAgo('');
  const [first, second] = masters as [TestMaster, TestMaster];
  const claim = newClaim({ ttlMs: 600_000 });
  const { redlock } = redlockOn([first, second]);
  expect(await redlock.attempt(claim, lasting)).toMatchObject({ kind: 'acquired' });
  await second.flush();
  const since = Date.now() - graceMs - 1_000;
  await second.command('hset', markKey, 'id', 'new', 'since', since);
  const attempt = (restartGraceMs: number) =>
    redlockOn(masters, { restartGraceMs }).redlock.attempt(newClaim(), lasting);
  expect((await attempt(600_000)).kind).not.toBe('acquired');
  // What masters.md warns of.
  expect((await attempt(graceMs)).kind).toBe('acquired');
});

test('several prefixes on one server: a mark for each, and a vote by each', async () => {
  const [master] = (await startMasters(1, { persist: true })) as [TestMaster];
  await master.markLongAgo('a:');
  const voteOf = (prefix: string) =>
    handleOn(master, { ...hour, prefix }).acquire(newClaim(), lasting);
  expect(await voteOf('a:')).toMatchObject({ kind: 'granted' });
  expect(await voteOf('b:')).toEqual(lostIts);
  const marks = (await master.keys()).filter((key) => key.endsWith(':mark'));
  expect(marks).toEqual(['{a:}:mark', '{b:}:mark']);
  await master.stop();
});

test('met empty while a script of another program kept it busy: it has no vote', async () => {
  const config = { 'lua-time-limit': '1' };
  const [master] = (await startMasters(1, { persist: true, config })) as [TestMaster];
  const person = new Redis(new URL(master.url).pathname);
  await person.ping();
  const script = master.command('eval', 'while true do end', 0).catch(() => null);
  await eventually('busy', () => person.get('x').catch(() => 'BUSY'));
  const handle = handleOn(master, hour);
  expect(await handle.acquire(newClaim(), lasting)).toEqual(failed('reply', /^BUSY /));
  await person.call('SCRIPT', 'KILL');
  await script;
  person.disconnect();
  expect(await handle.acquire(newClaim(), lasting)).toEqual(lostIts);
  await master.stop();
});

test('met empty while it loaded: it has no vote', async () => {
  const config = { 'key-load-delay': '400' };
  const [master] = (await startMasters(1, { persist: true, config })) as [TestMaster];
  await master.command('eval', "for i = 1, 2000 do redis.call('set', 'k' .. i, i) end", 0);
  const handle = handleOn(master, hour);
  const restarted = master.restart();
  const next = (cause: string) =>
    eventually(cause, async () => {
      const reply = await handle.acquire(newClaim(), lasting);
      return reply.kind !== 'failed' || reply.cause === cause ? reply : null;
    });
  expect(await next('reply')).toEqual(failed('reply', /^LOADING /));
  await restarted;
  expect(await next('restarted')).toEqual(lostIts);
  await master.stop();
});

test('a full server without a mark: it has no vote for one grace', async () => {
  const [first, ...others] = masters as [TestMaster, TestMaster, TestMaster];
  for (const master of others) await master.markLongAgo('');
  await first.command('config', 'set', 'maxmemory-policy', 'noeviction');
  await first.command('config', 'set', 'maxmemory', 1);
  const handles = redlockOn(masters, graced).masters;
  const [handle] = handles;
  for (const other of handles) await other.identify();
  const vote = () => handle?.acquire(newClaim(), lasting);
  expect(await vote()).toMatchObject({ kind: 'failed', cause: 'reply' });
  expect(await haveMarks([first])).toBe(false);
  await first.command('config', 'set', 'maxmemory', 0);
  // On the connection that has found no mark.
  expect(await vote()).toEqual(lostIts);
});

test.each([
  ['setnx', 0],
  ['setnx-ms', 0],
  ['redlock', 1],
] as const)(
  'a server without a mark, by protocol %s: votes, and has %i',
  async (protocol, count) => {
    const [master] = masters as [TestMaster];
    const handle = handleOn(master, { ...graced, protocol });
    const claim = newClaim();
    expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
    await handle.release(claim, 0, null);
    expect(await master.command('exists', markKey)).toBe(count);
  },
);
