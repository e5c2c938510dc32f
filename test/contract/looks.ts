// What a master shows to a client that takes no lock: holders, their time, the fence and the queue,
// as they are at one moment, and nothing changed by it. Nested runs and the steps of redlockctl go
// by it.
//
// *Note:* each of several holders is shown with its own time, which may be shorter than the key's.

import assert from 'node:assert/strict';
import { describe, expect } from 'vitest';
import { renderRun } from '../../src/lock/history.ts';
import {
  claimOf,
  type Declare,
  lasting,
  type Server,
  sharedOf,
  slotOf,
  testsOn,
  upTo,
  type World,
  waiting,
} from './world.ts';

const nothing = {
  type: null,
  value: null,
  remainingMs: null,
  fence: null,
  queue: [],
  holders: [],
  freeze: null,
  endings: [],
};

export function looks(world: World): void {
  const it = testsOn(world);

  describe('a look', () => {
    holders(it);
    ends(it);
  });
}

function holders(it: Declare): void {
  it('at nothing', async (server) => {
    expect(await server.look('r', 's')).toEqual([nothing, nothing]);
  });

  it('at one exclusive holder, with its fence and waiters in order', async (server, master) => {
    const granted = await master.acquire(claimOf('a'), lasting);
    assert(granted.kind === 'granted');
    const [later, first] = [waiting(claimOf('c')), waiting(claimOf('b'))];
    for (const claim of [later, first]) await master.acquire(claim, lasting);
    const [sight] = await seen(server, 'r');
    const { fence } = granted;
    expect(sight).toMatchObject({
      type: 'string',
      value: 'a',
      remainingMs: upTo(60_000),
      fence,
      holders: [],
    });
    expect(sight?.queue.map(({ id }) => id)).toEqual([first.waiter?.id, later.waiter?.id]);
  });

  it('at a holder without a fence, and at one that never expires', async (server, master) => {
    await master.acquire(claimOf('a', { isFenced: false }), lasting);
    await server.write('s', 'b', null);
    expect(await server.look('r', 's')).toEqual([
      { ...nothing, type: 'string', value: 'a', remainingMs: upTo(60_000) },
      { ...nothing, type: 'string', value: 'b' },
    ]);
  });

  it('at those that share it, each with its own time', async (server, master) => {
    await master.acquire(sharedOf('a', { ttlMs: 30_000 }), lasting);
    await master.acquire(sharedOf('b'), lasting);
    const [sight] = await seen(server, 'r');
    expect(sight).toMatchObject({ value: 'shared', remainingMs: upTo(60_000) });
    expect(sight?.holders).toEqual([
      { slot: 0, value: 'a', remainingMs: upTo(30_000) },
      { slot: 0, value: 'b', remainingMs: upTo(60_000) },
    ]);
  });

  it('at those on slots', async (server, master) => {
    await master.acquire(slotOf('a', 2), lasting);
    const [sight] = await seen(server, 'r');
    expect(sight).toMatchObject({ value: 'slots 2', holders: [{ slot: 2, value: 'a' }] });
  });
}

/** At what a run has left. */
function ends(it: Declare): void {
  it('at one that has given it back, or has ended', async (server, master) => {
    await master.acquire(claimOf('a', { isFenced: false }), lasting);
    await master.release(claimOf('a'), 0, null);
    await master.acquire(sharedOf('b', { resources: ['s'], ttlMs: 50, isFenced: false }), lasting);
    await server.pass(100);
    expect(await server.look('r', 's')).toEqual([nothing, nothing]);
  });

  it('at holders whose run has ended, while their keys are kept', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 9_000, endOf('a'));
    await master.acquire(sharedOf('b', { resources: ['s'] }), lasting);
    await master.acquire(sharedOf('c', { resources: ['s'] }), lasting);
    await master.release(sharedOf('b', { resources: ['s'] }), 9_000, endOf('b'));
    const [alone, shared] = await seen(server, 'r', 's');
    const ended = (token: string) => [{ token, atMs: expect.any(Number) }];
    expect([alone?.endings, shared?.endings]).toEqual([ended('a'), ended('b')]);
    expect(shared?.holders).toHaveLength(2);
  });

  it('at the first end of a run that two lines tell of', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 9_000, endOf('a'));
    const before = await seen(server, 'r');
    await server.pass(20);
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 9_000, endOf('a', 'again'));
    expect(await server.history('r')).toHaveLength(2);
    expect((await seen(server, 'r'))[0]?.endings).toEqual(before[0]?.endings);
  });

  it('at no end of the run of another holder', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await master.release(claimOf('a'), 0, endOf('a'));
    await master.acquire(claimOf('b'), lasting);
    expect((await seen(server, 'r'))[0]).toMatchObject({ value: 'b', endings: [] });
  });

  it('changes nothing for those that wait', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await master.acquire(waiting(claimOf('b')), lasting);
    await server.look('r');
    expect(await master.acquire(waiting(claimOf('c')), lasting)).toMatchObject({
      holder: 'a',
      position: 1,
    });
  });
}

/** The line of a run with this token. */
export function endOf(token: string, label = 'job'): string {
  const client = { host: 'web1', pid: 1, user: 'ops', label };
  const end = { outcome: 'ran', waitMs: 0, heldMs: 1, exitCode: 0, signal: null, status: 0 };
  return renderRun({ token, ...client, ...end, fence: null, blocker: null });
}

async function seen(server: Server, ...resources: string[]) {
  const sights = await server.look(...resources);
  assert(!('kind' in sights), 'no answer');
  return sights;
}
