// What a server may say instead of yes or no: it is full, loading, read-only, it does not know us. Each is a vote not given,
// with one clear line; none is an exception, and none is taken for a lock that somebody holds.

import { afterAll, describe, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { handleOn, lasting, newClaim, redlockOn } from './rig.ts';

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

async function oneMaster(config: Record<string, string | string[]> = {}, options: object = {}): Promise<TestMaster> {
  const [master] = await startMasters(1, { config, ...options });
  return master as TestMaster;
}

const acquireAt = (url: string) => handleOn(url).acquire(newClaim(), lasting);
const failed = (cause: string, message: RegExp) => ({
  kind: 'failed',
  cause,
  message: expect.stringMatching(message),
});

describe('out of memory', () => {
  test('a new lock is a vote not given; a lock that stands is extended, fenced and released', async () => {
    const master = await oneMaster({ 'maxmemory-policy': 'noeviction' });
    const handle = handleOn(master);
    const claim = newClaim();
    await handle.acquire(claim, lasting);
    await master.command('set', '{r}:fence', 1);
    await master.command('config', 'set', 'maxmemory', 1);
    expect(await handle.acquire(newClaim({ resource: 's' }), lasting)).toEqual(
      failed('reply', /^OOM command not allowed/),
    );
    expect(await handle.acquire(newClaim(), lasting)).toMatchObject({ kind: 'refused', holder: claim.value });
    expect(await handle.extend(claim, 7, lasting)).toMatchObject({ kind: 'extended' });
    expect(await master.get('{r}:fence')).toBe('7');
    expect(await handle.heal(newClaim({ resource: 's' }), 1, lasting)).toEqual(failed('reply', /^OOM/));
    expect(await handle.release(claim, 0, lasting)).toEqual({ kind: 'released' });
    expect(await master.keys()).toEqual(['{r}:fence']);
  });
});

describe('no vote', () => {
  test('loading its data: a vote not given, and one again when it has loaded', async () => {
    const master = await oneMaster({ 'key-load-delay': '400' }, { persist: true });
    await master.command('eval', "for i = 1, 5000 do redis.call('set', 'k' .. i, i) end", 0);
    const handle = handleOn(master);
    const restarted = master.restart();
    const loading = await eventually('LOADING', async () => {
      const reply = await handle.acquire(newClaim(), lasting);
      return reply.kind === 'failed' && reply.cause === 'reply' && reply;
    });
    expect(loading).toEqual(failed('reply', /^LOADING /));
    await restarted;
    expect(await handle.acquire(newClaim(), lasting)).toMatchObject({ kind: 'granted' });
  });

  test('read-only, as a replica is that does not admit to it: a vote not given', async () => {
    const primary = await oneMaster({ 'repl-diskless-sync-delay': '0' }, { transport: 'tcp' });
    const user = ['default', 'on', 'nopass', '~*', '&*', '+@all', '-role', '-info'];
    const replica = await oneMaster({ user, replicaof: ['127.0.0.1', new URL(primary.url).port] });
    await eventually('synchronised', async () => {
      await primary.command('set', 'seen', 1);
      return replica.get('seen').catch(() => null);
    });
    expect(await acquireAt(replica.url)).toEqual(failed('reply', /^READONLY /));
  });

  test('a key of another type: held, by something that says what it is', async () => {
    const master = await oneMaster();
    for (const [command, words, type] of [
      ['hset', ['f', 'x'], 'hash'],
      ['rpush', ['x'], 'list'],
      ['sadd', ['x'], 'set'],
      ['zadd', [1, 'x'], 'zset'],
    ] as const) {
      await master.flush();
      await master.command(command, 'r', ...words);
      const handle = handleOn(master);
      const reply = await handle.acquire(newClaim(), lasting);
      expect(reply).toMatchObject({ kind: 'refused', holder: `(a ${type})`, remainingMs: null });
      expect(await handle.extend(newClaim(), null, lasting)).toEqual({ kind: 'taken' });
      expect(await handle.heal(newClaim(), null, lasting)).toEqual({ kind: 'taken' });
      expect(await master.command('type', 'r')).toBe(type);
    }
  });

  test('a counter that is no number: a vote not given, and nothing is left', async () => {
    const master = await oneMaster();
    await master.command('set', '{r}:fence', 'not a number');
    const { redlock } = redlockOn([master]);
    expect(await redlock.attempt(newClaim())).toMatchObject({ kind: 'unreachable' });
    await redlock.settled();
    expect(await master.keys()).toEqual(['{r}:fence']);
  });

  test('something that is no Redis at all: a vote not given', async () => {
    const { createServer } = await import('node:net');
    const web = createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const { port } = web.address() as { port: number };
    expect(await acquireAt(`redis://127.0.0.1:${port}`)).toEqual(failed('connection', /./));
    await new Promise((resolve) => web.close(resolve));
  });
});

describe('access', () => {
  const acl = { requirepass: 's e/c:r@t%', user: ['job', 'on', '>p w', '~*', '&*', '+@all'] };
  const withLogin = (url: string, login: string) => url.replace('://', `://${login}@`);
  const encoded = encodeURIComponent(acl.requirepass);

  test.each([
    ['no password', '', /^NOAUTH /],
    ['a wrong password', ':wrong@', /^WRONGPASS /],
    ['a user that there is not', 'nobody:wrong@', /^WRONGPASS /],
    ['a wrong password of a user', 'job:wrong@', /^WRONGPASS /],
  ])('%s: denied', async (_title, login, message) => {
    const master = await oneMaster(acl);
    expect(await acquireAt(master.url.replace('://', `://${login}`))).toEqual(failed('denied', message));
    expect(await master.keys()).toEqual([]);
  });

  test('rights that do not suffice: denied, with what is missing', async () => {
    const user = (name: string, ...rights: string[]) => [name, 'on', 'nopass', ...rights];
    for (const [rights, message] of [
      [['~*', '+@all', '-eval'], /^NOPERM .*eval/],
      [['~*', '+@all', '-set'], /can't run this command|NOPERM/],
      [['~other:*', '+@all'], /^NOPERM .*key/],
    ] as const) {
      const master = await oneMaster({ user: user('job', ...rights) });
      expect(await acquireAt(withLogin(master.url, 'job:x'))).toEqual(failed('denied', message));
      expect(await master.keys()).toEqual([]);
    }
  });

  test('a database that there is not: a failure that says so', async () => {
    const master = await oneMaster();
    expect(await acquireAt(`${master.url}?db=99`)).toEqual(failed('reply', /DB index is out of range/));
    const guarded = await oneMaster({ requirepass: 'x' });
    expect(await acquireAt(`${withLogin(guarded.url, ':wrong')}?db=1`)).toMatchObject({
      kind: 'failed',
      cause: 'denied',
    });
  });

  test('a password that the server does not ask for is no trouble', async () => {
    const master = await oneMaster();
    expect(await acquireAt(withLogin(master.url, ':unasked'))).toMatchObject({ kind: 'granted' });
  });

  test.each([
    ['a password', `:${encoded}`, ''],
    ['a user', 'job:p%20w', ''],
    ['a database', `:${encoded}`, '?db=3'],
    ['a user and a database', 'job:p%20w', '?db=3'],
  ])('%s: the same for acquire, extend, heal and release, and after a new connection', async (_title, login, query) => {
    const master = await oneMaster(acl);
    const db = Number(query.slice('?db='.length));
    const look = `redis.call('select', ${db}) return redis.call('get', 'p:r')`;
    const handle = handleOn(withLogin(master.url, login) + query, { prefix: 'p:' });
    const claim = newClaim();
    expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
    expect(await master.command('eval', look, 0)).toBe(claim.value);
    await master.command('client', 'kill', 'type', 'normal', 'skipme', 'yes');
    await eventually('extended', async () => (await handle.extend(claim, null, lasting)).kind === 'extended');
    expect(await handle.heal(claim, null, lasting)).toEqual({ kind: 'healed' });
    expect(await handle.release(claim, 0, lasting)).toEqual({ kind: 'released' });
    expect(await master.command('eval', look, 0)).toBeNull();
    if (db !== 0) expect(await master.keys()).toEqual([]);
  });
});
