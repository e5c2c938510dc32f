// What a master promises when the server is slow, cut off, silent or down. A call may fail; it
// may never reject, and never come back to life later.
//
// *Note:* "not answered" is never "not done". Every test that loses an answer looks at the server
// afterwards.

import { describe, expect } from 'vitest';
import type { Master } from '../../src/lock/ports.ts';
import {
  claimOf,
  type Declare,
  heldBy,
  lasting,
  type Server,
  testsOn,
  untilAnswered,
  type World,
  waiting,
} from './world.ts';

export function faults(world: World): void {
  const it = testsOn(world);

  describe('a frozen server', () => frozen(it));
  describe('a lost answer', () => lostAnswers(it));
  describe('a rollback whose connection breaks', () => brokenRollback(it));
  describe('a server that is not to be reached', () => unreachable(it));
}

function frozen(it: Declare): void {
  it('answers when it has thawed, and its late answer is true', async (server, master) => {
    await master.acquire(claimOf('a', { resources: ['s'] }), lasting);
    await server.freeze();
    const reply = master.acquire(claimOf('a'), lasting);
    await server.pass(50);
    await server.thaw();
    expect(await reply).toMatchObject({ kind: 'granted' });
    expect(await server.read('r')).toEqual(heldBy('a'));
  });

  it('told to release meanwhile: nothing of ours after the thaw', async (server, master) => {
    await server.freeze();
    const replies = [master.acquire(claimOf('a'), lasting), master.release(claimOf('a'), 0, null)];
    await server.pass(50);
    await server.thaw();
    await Promise.all(replies);
    expect(await server.read('r')).toBeNull();
  });

  it('connection broken before the release: nothing of ours is left', async (server, master) => {
    await master.acquire(claimOf('a', { resources: ['s'] }), lasting);
    await server.freeze();
    const reply = master.acquire(claimOf('a'), lasting);
    await server.pass(20);
    await server.cut();
    expect(await reply).toMatchObject({ kind: 'failed', cause: 'connection' });
    const released = master.release(claimOf('a'), 0, null);
    await server.pass(20);
    await server.thaw();
    await released;
    expect(await server.read('r')).toBeNull();
  });

  it('silent for long before the release: nothing of ours is left', async (server, master) => {
    await master.acquire(claimOf('a', { resources: ['s'] }), lasting);
    await server.freeze();
    const reply = master.acquire(claimOf('a'), lasting);
    await server.pass(1_200);
    const released = master.release(claimOf('a'), 0, null);
    await server.pass(20);
    await server.thaw();
    await Promise.all([reply, released]);
    expect(await server.read('r')).toBeNull();
  });
}

function lostAnswers(it: Declare): void {
  it('of an acquire: our own value counts as ours the next time', async (server, master) => {
    await master.acquire(claimOf('a', { resources: ['s'] }), lasting);
    await server.loseAnswers();
    const reply = master.acquire(claimOf('a'), lasting);
    await server.pass(50);
    expect(await server.read('r')).toEqual(heldBy('a'));
    await server.cut();
    expect(await reply).toMatchObject({ kind: 'failed', cause: 'connection' });
    await server.restore();
    const next = await untilAnswered(server, () => master.acquire(claimOf('a'), lasting));
    expect(next).toMatchObject({ kind: 'granted' });
  });

  it('of an acquire: the release removes what it has set', async (server, master) => {
    await master.acquire(claimOf('a', { resources: ['s'] }), lasting);
    await server.loseAnswers();
    const reply = master.acquire(claimOf('a'), lasting);
    await server.pass(50);
    await server.cut();
    await server.restore();
    expect(await reply).toMatchObject({ kind: 'failed' });
    const released = await untilAnswered(server, () => master.release(claimOf('a'), 0, null));
    expect(released).toEqual({ kind: 'released' });
    expect(await server.read('r')).toBeNull();
  });

  it('of a release: the value is gone, and that is told', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await server.loseAnswers();
    const reply = master.release(claimOf('a'), 0, null);
    await server.pass(50);
    expect(await server.read('r')).toBeNull();
    await server.cut();
    await server.restore();
    // It was sent once more on another connection, where the value was not shown any more.
    expect(await reply).toEqual({ kind: 'released' });
    expect(await master.release(claimOf('a'), 0, null)).toEqual({ kind: 'missing' });
  });
}

function brokenRollback(it: Declare): void {
  it('brings back no waiter that has left the queue meanwhile', async (server, master) => {
    const first = waiting(claimOf('a'));
    await master.acquire(first, lasting);
    await server.loseAnswers();
    const rolledBack = master.rollback(first);
    await server.pass(50);
    await server.restore();
    const other = server.handle();
    await other.acquire({ ...first, value: 'a2' }, lasting);
    await other.release({ ...first, value: 'a2' }, 0, null);
    await server.cut();
    await rolledBack;
    expect(await server.look('r')).toMatchObject([{ queue: [] }]);
  });
}

function unreachable(it: Declare): void {
  it('fails every call, and rejects none', async (server, master) => {
    await server.unplug();
    const replies = await Promise.all([
      master.acquire(claimOf('a'), lasting),
      master.extend(claimOf('a'), null, lasting),
      master.repair(claimOf('a'), null, lasting),
    ]);
    for (const reply of replies)
      expect(reply).toMatchObject({ kind: 'failed', cause: 'connection' });
  });

  it('is never sent what failed meanwhile', async (server, master) => {
    await server.unplug();
    await master.acquire(claimOf('a'), lasting);
    await master.repair(claimOf('a'), null, lasting);
    await server.restore();
    await untilAnswered(server, () => master.extend(claimOf('b'), null, lasting));
    await server.pass(100);
    expect(await server.read('r')).toBeNull();
  });

  it('votes again through the same handle when it is back', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await server.unplug();
    expect(await untilFailed(server, () => master.extend(claimOf('a'), null, lasting))).toBe(
      'connection',
    );
    await server.restore();
    const reply = await untilAnswered(server, () => master.extend(claimOf('a'), null, lasting));
    expect(reply).toMatchObject({ kind: 'extended' });
  });

  it('says after a restart that our value is gone', async (server, master) => {
    await master.acquire(claimOf('a'), lasting);
    await server.restart();
    const reply = await untilAnswered(server, () => master.extend(claimOf('a'), null, lasting));
    expect(reply).toEqual({ kind: 'missing' });
  });
}

/**
 * Calls until one fails: a connection that is broken is not always noticed at once. Returns the
 * cause.
 */
async function untilFailed(
  server: Server,
  ask: () => ReturnType<Master['extend']>,
): Promise<string> {
  for (;;) {
    const reply = await ask();
    if (reply.kind === 'failed') return reply.cause;
    await server.pass(10);
  }
}
