// What a server may say instead of yes or no: it is full, loading, read-only. Each is a vote not
// given, with one clear line; none is an exception, and none is taken for a lock that is
// held.

import { afterAll, describe, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { acquireAt, failed, handleOn, lasting, newClaim, redlockOn } from './rig.ts';

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

async function oneMaster(
  config: Record<string, string | string[]> = {},
  options: object = {},
): Promise<TestMaster> {
  const [master] = await startMasters(1, { config, ...options });
  return master as TestMaster;
}

describe('out of memory', () => {
  test('19. a new lock: no vote; one that stands: extended, fenced, released (H16)', async () => {
    const master = await oneMaster({ 'maxmemory-policy': 'noeviction' });
    const handle = handleOn(master);
    const claim = newClaim();
    await handle.acquire(claim, lasting);
    await master.command('set', '{r}:fence', 1);
    await master.command('config', 'set', 'maxmemory', 1);
    expect(await handle.acquire(newClaim({ resources: ['s'] }), lasting)).toEqual(
      failed('reply', /^OOM command not allowed/),
    );
    expect(await handle.acquire(newClaim(), lasting)).toMatchObject({
      kind: 'refused',
      holder: claim.value,
    });
    expect(await handle.extend(claim, 7, lasting)).toMatchObject({ kind: 'extended' });
    expect(await master.get('{r}:fence')).toBe('7');
    expect(await handle.repair(newClaim({ resources: ['s'] }), 1, lasting)).toEqual(
      failed('reply', /^OOM/),
    );
    expect(await handle.release(claim, 0, null)).toEqual({ kind: 'released' });
    expect(await master.keys()).toEqual(['{r}:fence']);
  });
});

describe('no vote', () => {
  test('loading its data: a vote not given, and one again when it has loaded', async () => {
    const master = await oneMaster({ 'key-load-delay': '400' }, { persist: true });
    await master.command('eval', "for i = 1, 2000 do redis.call('set', 'k' .. i, i) end", 0);
    const handle = handleOn(master);
    const restarted = master.restart();
    const loading = await eventually('LOADING', async () => {
      const reply = await handle.acquire(newClaim(), lasting);
      return reply.kind === 'failed' && reply.cause === 'reply' && reply;
    });
    expect(loading).toEqual(failed('reply', /^LOADING /));
    await restarted;
    // KeyDB answers other commands before it has loaded.
    await eventually(
      'a vote again',
      async () => (await handle.acquire(newClaim(), lasting)).kind === 'granted',
    );
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
    for (const [command, args, type] of [
      ['hset', ['f', 'x'], 'hash'],
      ['rpush', ['x'], 'list'],
      ['sadd', ['x'], 'set'],
      ['zadd', [1, 'x'], 'zset'],
    ] as const) {
      await master.flush();
      await master.command(command, 'r', ...args);
      const handle = handleOn(master);
      const reply = await handle.acquire(newClaim(), lasting);
      expect(reply).toMatchObject({ kind: 'refused', holder: `(a ${type})`, remainingMs: null });
      expect(await handle.extend(newClaim(), null, lasting)).toEqual({ kind: 'taken' });
      expect(await handle.repair(newClaim(), null, lasting)).toEqual({ kind: 'taken' });
      expect(await master.command('type', 'r')).toBe(type);
    }
  });

  test('a counter that is no number: a vote not given, and nothing is left', async () => {
    const master = await oneMaster();
    await master.command('set', '{r}:fence', 'not a number');
    const { redlock } = redlockOn([master]);
    expect(await redlock.attempt(newClaim(), lasting)).toMatchObject({ kind: 'unreachable' });
    await redlock.settled();
    expect(await master.keys()).toEqual(['{r}:fence']);
  });

  test('something that is no Redis at all: a vote not given', async () => {
    const { createServer } = await import('node:net');
    const web = createServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    );
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const { port } = web.address() as { port: number };
    expect(await acquireAt(`redis://127.0.0.1:${port}`)).toEqual(
      failed('connection', /^does not speak the Redis protocol$/),
    );
    await new Promise((resolve) => web.close(resolve));
  });
});
