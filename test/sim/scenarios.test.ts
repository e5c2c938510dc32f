// Stories told step by step: the bugs of other libraries, by their numbers in the catalogue, and
// those that the simulator has found here. A seed does not survive a change in the order of draws;
// a story does. All times are virtual.

import { describe, expect, it } from 'vitest';
import { alone, type Lease } from '../../src/lock/types.ts';
import { Calls } from '../../src/redis/calls/script-calls.ts';
import { timingsOf } from './options.ts';
import type { Program } from './program.ts';
import { type Actor, key, prefix, resource, Stage } from './stage.ts';

const lasting = new AbortController().signal;

const each = <Item>(items: readonly Item[], act: (item: Item) => void) => {
  for (const item of items) act(item);
};

/** What ended the run, and how the command ended. */
const resultOf = ({ record }: Program) => [record?.cause, record?.childExit];

async function leaseOf(stage: Stage, actor: Actor): Promise<Lease> {
  const acquisition = stage.acquire(actor, 0);
  await stage.pass(40);
  if (acquisition.value?.kind !== 'acquired')
    throw new Error(`not acquired: ${JSON.stringify(acquisition.value)}`);
  return acquisition.value.lease;
}

describe('an attempt', () => {
  it.each([2, 4])(
    '1. %i masters, split evenly: refused in one round trip (H1)',
    async (masterCount) => {
      const stage = new Stage({ masterCount });
      each(stage.servers.slice(masterCount / 2), ({ redis }) => redis.put(key, 'another', 60_000));
      const actor = stage.actor('a');
      const attempt = stage.start(actor, () => actor.redlock.attempt(actor.newClaim(), lasting));
      // One round trip to connect, and one to ask.
      await stage.pass(5);
      expect(attempt.value).toMatchObject({ kind: 'busy', holder: 'another' });
      await stage.pass(20);
      expect(stage.values.filter((value) => value === null)).toHaveLength(masterCount / 2);
    },
  );

  it('2. masters that answer after the ttl: never held, and nothing is left (S1)', async () => {
    const stage = new Stage({ masterCount: 5 });
    each(stage.servers, (server) => server.freeze());
    const acquisition = stage.acquire(stage.actor('a'), 0);
    await stage.pass(1_500);
    expect(acquisition.value).toMatchObject({ kind: 'unreachable' });
    each(stage.servers, (server) => server.thaw());
    await stage.pass(10);
    expect(stage.values).toEqual([null, null, null, null, null]);
  });

  it('3. one of three down, one busy for 300 ms: acquired within half a second (O10)', async () => {
    const stage = new Stage();
    stage.server(0).stop();
    stage.server(1).redis.put(key, 'another', 300);
    const acquisition = stage.acquire(stage.actor('a'), 5_000);
    await stage.pass(500);
    expect(acquisition.value).toMatchObject({ kind: 'acquired' });
  });

  it('4. six contenders on five masters: a winner within half a second (O10)', async () => {
    for (let seed = 1; seed <= 12; seed += 1) {
      const stage = new Stage({ masterCount: 5, minMs: 1, jitterMs: 6 }, seed);
      const acquisitions = [1, 2, 3, 4, 5, 6].map((number) =>
        stage.acquire(stage.actor(`a${number}`), 5_000),
      );
      await stage.pass(500);
      const winners = acquisitions.filter(({ value }) => value?.kind === 'acquired');
      expect(winners, `seed ${seed}`).toHaveLength(1);
    }
  });

  it('6. a master that is down when it is asked gets no key when it is up again (O2)', async () => {
    const stage = new Stage();
    each(stage.servers, (server) => server.stop());
    const acquisition = stage.acquire(stage.actor('a'), 0);
    await stage.pass(200);
    expect(acquisition.value).toMatchObject({ kind: 'unreachable' });
    each(stage.servers, (server) => server.start());
    await stage.pass(3_000);
    expect(stage.values).toEqual([null, null, null]);
  });

  it('6. a connection breaks with a request under way: it is not sent again (O3)', async () => {
    const stage = new Stage({ masterCount: 1 });
    stage.server(0).freeze();
    const acquisition = stage.acquire(stage.actor('a'), 0);
    await stage.pass(20);
    stage.server(0).stop();
    stage.server(0).start();
    await stage.pass(3_000);
    expect(acquisition.value).toMatchObject({ kind: 'unreachable' });
    expect(stage.values).toEqual([null]);
  });

  it('6. a lost answer: what was set by the attempt before does not keep us out (O4)', async () => {
    const stage = new Stage({ masterCount: 1 });
    const { toClient } = stage.network.link('a', 'm1');
    const acquisition = stage.acquire(stage.actor('a'), 60_000);
    await stage.pass(3);
    toClient.block();
    await stage.pass(700);
    toClient.unblock();
    await stage.pass(1_500);
    expect(acquisition.value).toMatchObject({ kind: 'acquired' });
  });

  it('7. a frozen master is clean when it thaws after a failed attempt (O1)', async () => {
    const stage = new Stage();
    stage.server(0).freeze();
    each(stage.servers.slice(1), ({ redis }) => redis.put(key, 'another', 60_000));
    const acquisition = stage.acquire(stage.actor('a'), 0);
    await stage.pass(3_000);
    expect(acquisition.value).toMatchObject({ kind: 'busy' });
    stage.server(0).thaw();
    await stage.pass(10);
    expect(stage.values).toEqual([null, 'another', 'another']);
  });
});

describe('holding', () => {
  it('8. all masters frozen: the command is stopped before validity ends (S10)', async () => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { obeysInMs: null } });
    await stage.pass(500);
    each(stage.servers, (server) => server.freeze());
    await stage.pass(5_000);
    expect(resultOf(program)).toEqual([
      { kind: 'lost', reason: 'unreachable' },
      { kind: 'signaled', signal: 'SIGKILL' },
    ]);
    const exited = program.events.find(({ kind }) => kind === 'child-exited');
    expect(exited).toMatchObject({ runMs: expect.toSatisfy((ms) => ms < 1_500) });
    expect(stage.findings).toEqual([]);
  });

  it('9. extensions that fail and then succeed in time: still held (H11)', async () => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { workMs: 3_000 } });
    await stage.pass(330);
    each(stage.servers, (server) => server.freeze());
    await stage.pass(100);
    each(stage.servers, (server) => server.thaw());
    await stage.pass(4_000);
    expect(program.events.filter(({ kind }) => kind === 'extension-failed').length).toBeGreaterThan(
      0,
    );
    expect(resultOf(program)).toEqual([{ kind: 'child' }, { kind: 'exited', code: 0 }]);
    expect(stage.findings).toEqual([]);
  });

  it('10. a key that is lost on one master is back with the next extension (S8)', async () => {
    const stage = new Stage();
    stage.program('a');
    await stage.pass(100);
    const [value] = stage.values;
    stage.server(1).redis.put(key, null);
    await stage.pass(400);
    expect(stage.values).toEqual([value, value, value]);
    expect(stage.findings).toEqual([]);
  });

  it('10. keys lost on all masters: lost at the next extension, and not revived (S9)', async () => {
    const stage = new Stage();
    const program = stage.program('a');
    await stage.pass(100);
    each(stage.servers, ({ redis }) => redis.put(key, null));
    await stage.pass(600);
    expect(resultOf(program)[0]).toEqual({ kind: 'lost', reason: 'expired' });
    expect(stage.values).toEqual([null, null, null]);
  });

  it("10. another's value on a majority: lost at once, and left alone (S9)", async () => {
    const stage = new Stage();
    const program = stage.program('a');
    await stage.pass(100);
    each(stage.servers.slice(1), ({ redis }) => redis.put(key, 'another', 60_000));
    await stage.pass(600);
    expect(resultOf(program)[0]).toEqual({ kind: 'lost', reason: 'taken' });
    expect(stage.values).toEqual([null, 'another', 'another']);
  });

  it('14. any ttl from half a second to an hour: at most four extensions in it', async () => {
    for (const ttlMs of [500, 2_000, 60_000, 3_600_000]) {
      const stage = new Stage(timingsOf(ttlMs));
      const program = stage.program('a', { habits: { workMs: 10 * ttlMs } });
      await stage.pass(11 * ttlMs);
      const extensionCount = program.record?.extensionCount ?? Number.NaN;
      expect(extensionCount, `ttl ${ttlMs}`).toSatisfy(
        (count: number) => count >= 28 && count <= 60,
      );
    }
  });
});

describe('releasing', () => {
  it('11. a missing lock: at once, without error, with the exit code (H5)', async () => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { workMs: 200, exitCode: 3 } });
    await stage.pass(150);
    each(stage.servers, ({ redis }) => redis.put(key, null));
    await stage.pass(100);
    expect(resultOf(program)).toEqual([{ kind: 'child' }, { kind: 'exited', code: 3 }]);
    expect(program.events.slice(-2)).toMatchObject([
      { kind: 'released', releasedCount: 0 },
      { kind: 'missing-at-release' },
    ]);
  });

  it('12. during an extension, again and again: no key is left or comes back (O8)', async () => {
    const stage = new Stage({ jitterMs: 3 });
    const actor = stage.actor('a');
    for (let count = 0; count < 300; count += 1) {
      const lease = await leaseOf(stage, actor);
      const ended = new AbortController();
      stage.start(actor, () => actor.redlock.extend(lease, ended.signal));
      await stage.pass(stage.world.random.between(0, 6));
      stage.start(actor, () => {
        ended.abort();
        return actor.redlock.release(lease.claim, 0, null);
      });
      await stage.pass(50);
      expect(stage.values).toEqual([null, null, null]);
    }
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    '15. %s while waiting: no key and no place is left (O9, O11)',
    async (signal) => {
      const stage = new Stage();
      stage.program('holder');
      await stage.pass(100);
      const waiter = stage.program('waiter', { waitMs: 60_000 });
      await stage.pass(500);
      expect(stage.servers.every(({ redis }) => redis.waits('waiter'))).toBe(true);
      waiter.signal(signal);
      await stage.pass(60);
      expect(resultOf(waiter)[0]).toEqual({ kind: 'signal', signal });
      expect(stage.servers.some(({ redis }) => redis.waits('waiter'))).toBe(false);
      expect(stage.findings).toEqual([]);
    },
  );

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '15. %s while holding: the keys are gone (O9, O11)',
    async (signal) => {
      const stage = new Stage();
      const program = stage.program('a');
      await stage.pass(100);
      program.signal(signal);
      await stage.pass(100);
      // A hangup has no effect on the command; this one obeys the stop signal alone.
      if (signal === 'SIGHUP') program.signal('SIGTERM');
      await stage.pass(200);
      expect(program.record).not.toBeNull();
      expect(stage.values).toEqual([null, null, null]);
      expect(stage.findings).toEqual([]);
    },
  );

  it('15. stopped for longer than the ttl: the guard kills, the run is lost (S11)', async () => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { obeysInMs: null } });
    await stage.pass(200);
    program.process.pause();
    await stage.pass(5_000);
    expect(stage.findings).toEqual([]);
    program.process.resume();
    await stage.pass(1_000);
    expect(resultOf(program)).toEqual([
      { kind: 'lost', reason: 'suspended' },
      { kind: 'signaled', signal: 'SIGKILL' },
    ]);
  });
});

describe('what only the run knows', () => {
  it('masters that later runs do not find: lost, the command ended, and told once', async () => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { obeysInMs: null } });
    await stage.pass(200);
    program.areMastersReplaced = true;
    await stage.pass(2_000);
    expect(resultOf(program)).toEqual([
      { kind: 'lost', reason: 'masters-replaced' },
      { kind: 'signaled', signal: 'SIGKILL' },
    ]);
    expect(program.losses).toEqual(['masters-replaced']);
    expect([stage.values, stage.findings]).toEqual([[null, null, null], []]);
  });

  it.each([
    ['within two seconds', 1_900, { kind: 'signal', signal: 'SIGINT' }],
    ['two seconds apart', 2_000, { kind: 'child' }],
  ])('two Ctrl-C %s', async (_, apartMs, cause) => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { workMs: 5_000 } });
    await stage.pass(200);
    program.interrupt();
    await stage.pass(apartMs);
    expect(program.record).toBeNull();
    program.interrupt();
    await stage.pass(5_000);
    expect([resultOf(program)[0], program.losses]).toEqual([cause, []]);
    expect([stage.values, stage.findings]).toEqual([[null, null, null], []]);
  });
});

describe('the fence', () => {
  it('16. grows through the loss of a master with all its memory', async () => {
    const stage = new Stage({ restartGraceMs: 0 });
    const fences: (number | null | undefined)[] = [];
    for (const forgetful of [null, 0, 1, 2, null]) {
      if (forgetful !== null) {
        stage.server(forgetful).stop();
        await stage.pass(300);
        stage.server(forgetful).redis.restore(null);
        stage.server(forgetful).start();
      }
      const program = stage.program(`a${fences.length}`, {
        waitMs: 60_000,
        habits: { workMs: 50 },
      });
      await stage.pass(300);
      fences.push(program.record?.fence);
    }
    expect(fences.every((fence) => typeof fence === 'number')).toBe(true);
    expect(fences).toEqual([...fences].sort((a, b) => Number(a) - Number(b)));
    expect(new Set(fences).size).toBe(fences.length);
    expect(stage.findings).toEqual([]);
  });
});

describe('clocks', () => {
  it.each([
    ['set forward by more than the ttl ends the lease', 5_000, 'lost'],
    ['set back changes nothing', -5_000, 'child'],
  ])('20. the wall clock of the client, %s', async (_, ms, cause) => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { workMs: 2_000 } });
    await stage.pass(450);
    program.process.machine.stepWall(ms);
    await stage.pass(5_000);
    expect(program.record?.cause.kind).toBe(cause);
    expect(stage.findings).toEqual([]);
  });

  it('20. asleep for longer than the ttl: stopped as soon as it wakes', async () => {
    const stage = new Stage();
    const program = stage.program('a', { habits: { obeysInMs: null } });
    await stage.pass(450);
    program.process.machine.sleep();
    await stage.pass(60_000);
    program.process.machine.wake();
    const wokeAt = stage.world.now;
    await stage.pass(100);
    expect(program.events.find(({ kind }) => kind === 'child-exited')).toBeDefined();
    expect(stage.world.now - wokeAt).toBe(100);
    expect(resultOf(program)[0]).toMatchObject({ kind: 'lost' });
  });

  it('the jump of a master clock is reported', async () => {
    const stage = new Stage();
    const program = stage.program('a');
    await stage.pass(450);
    stage.server(0).redis.stepWall(400);
    await stage.pass(450);
    expect(program.events.find(({ kind }) => kind === 'master-jumped')).toMatchObject({
      master: 'm1/0',
      aheadMs: expect.toSatisfy((ms) => Math.abs(ms - 400) < 5),
    });
  });
});

describe('found by the simulator: what comes late', () => {
  it('the late rollback of an attempt does not remove the value of a later one', async () => {
    const stage = new Stage();
    const actor = stage.actor('a');
    // Another client holds two masters, so the attempt gets only the first, and its rollback is
    // late.
    each(stage.servers.slice(1), ({ redis }) => redis.put(key, 'another', 100));
    const acquisition = stage.acquire(actor, 5_000);
    await stage.pass(3);
    const [socket] = stage.socketsOf(actor, 0);
    socket?.clog(400);
    await stage.pass(150);
    socket?.loseAnswers();
    await stage.pass(3_000);
    expect(acquisition.value).toMatchObject({ kind: 'acquired' });
    expect(stage.findings).toEqual([]);
  });

  it('a connection given up while its lease is held carries no release behind', async () => {
    const stage = new Stage();
    const actor = stage.actor('a');
    const connected = await leaseOf(stage, actor);
    stage.start(actor, () => actor.redlock.release(connected.claim, 0, null));
    await stage.pass(20);
    stage.socketsOf(actor, 0)[0]?.clog(2_500);
    let lease = await leaseOf(stage, actor);
    // After a second the first master counts as silent, and a new connection is made: it is
    // repaired.
    for (let count = 0; count < 14; count += 1) {
      if (count === 6) stage.server(1).stop();
      const extension = stage.start(actor, () => actor.redlock.extend(lease, lasting));
      await stage.pass(330);
      if (extension.value?.kind === 'extended') lease = extension.value.lease;
    }
    expect(stage.findings).toEqual([]);
    expect(stage.values[0]).toBe(lease.claim.value);
  });

  it('a release made while a new connection is being made is sent on it', async () => {
    const stage = new Stage();
    const actor = stage.actor('a');
    const lease = await leaseOf(stage, actor);
    const { toServer } = stage.network.link('a', 'm1');
    stage.server(0).freeze();
    stage.start(actor, () => actor.redlock.extend(lease, lasting));
    await stage.pass(1_010);
    stage.server(0).thaw();
    stage.server(0).redis.put(key, lease.claim.value, 60_000);
    stage.server(0).freeze();
    toServer.slowMs = 20;
    stage.start(actor, () => actor.redlock.extend(lease, lasting));
    await stage.pass(10);
    stage.start(actor, () => actor.redlock.release(lease.claim, 0, null));
    await stage.pass(200);
    stage.server(0).thaw();
    await stage.pass(200);
    expect(stage.values[0]).toBeNull();
  });

  it('a master that answers an extension after the lease has ended is not repaired', async () => {
    const stage = new Stage();
    const actor = stage.actor('a');
    const lease = await leaseOf(stage, actor);
    stage.server(2).redis.put(key, null);
    stage.server(2).freeze();
    const extension = stage.start(actor, () => actor.redlock.extend(lease, lasting));
    await stage.pass(500);
    expect(extension.value).toMatchObject({ kind: 'extended', extendedCount: 2 });
    await stage.pass(600);
    stage.server(2).thaw();
    await stage.pass(20);
    expect(stage.values).toEqual([null, null, null]);
  });

  it('a master back with older memory may give an old number: fencing needs AOF', async () => {
    const stage = new Stage({ restartGraceMs: 1_000 });
    const run = async (name: string) => {
      const program = stage.program(name, { waitMs: 60_000, habits: { workMs: 20 } });
      await stage.pass(250);
      return program.record?.fence ?? null;
    };
    await run('a');
    const old = stage.server(1).redis.snapshot();
    // Two masters count on, and the third misses it.
    stage.server(2).stop();
    for (const name of ['b', 'c', 'd', 'e']) await run(name);
    // The second returns to its older memory, and long afterwards votes with the third alone.
    stage.server(1).stop();
    stage.server(1).redis.restore(old);
    stage.server(1).start();
    await stage.pass(3_000);
    stage.server(2).start();
    stage.server(0).stop();
    await stage.pass(3_000);
    await run('f');
    expect(stage.findings.map(({ property }) => property)).toEqual(['fence']);
  });
});

describe('found by the simulator: what a waiter asks and leaves', () => {
  it('a winner that one master has refused keeps no position in its queue', async () => {
    const stage = new Stage();
    each(stage.servers, ({ redis }) => redis.put(key, 'another', 60_000));
    const winner = stage.program('winner', { waitMs: 60_000 });
    await stage.pass(100);
    each(stage.servers.slice(1), ({ redis }) => redis.put(key, null));
    for (let count = 0; stage.witness.holdings.size === 0 && count < 200; count += 1)
      await stage.pass(10);
    await stage.pass(10);
    expect(stage.witness.holdings.size).toBe(1);
    expect(winner.record).toBeNull();
    expect(stage.server(0).redis.get(key)).toBe('another');
    expect(stage.server(0).redis.waits('winner')).toBe(false);
  });

  it('a poll that is refused is one script on each master', async () => {
    const stage = new Stage();
    each(stage.servers, ({ redis }) => redis.put(key, 'another', 60_000));
    const { known } = stage.program('waiter', { waitMs: 60_000 });
    await stage.pass(1_000);
    const counts = () => known.endpoints.map(({ scriptCount }) => scriptCount);
    const before = counts();
    await stage.pass(10_000);
    for (const [index, count] of counts().entries()) {
      expect(count - (before[index] ?? 0)).toBeGreaterThanOrEqual(9);
      expect(count - (before[index] ?? 0)).toBeLessThanOrEqual(12);
    }
  });

  it('a poll waits for a frozen master once', async () => {
    const stage = new Stage({ masterTimeoutMs: 800 });
    each(stage.servers, ({ redis }) => redis.put(key, 'another', 60_000));
    const { known } = stage.program('waiter', { waitMs: 60_000 });
    await stage.pass(3_000);
    stage.server(2).freeze();
    await stage.pass(2_000);
    const countOfFirst = () => known.endpoints[0]?.scriptCount ?? 0;
    const before = countOfFirst();
    await stage.pass(10_000);
    expect(countOfFirst() - before).toBeGreaterThanOrEqual(9);
  });

  it('slots held by a bare quorum each: the first waiter asks less and less often', async () => {
    const stage = new Stage();
    const calls = new Calls({ prefix, historyBytes: 0, protocol: 'redlock' });
    const put = (index: number, slot: number) => {
      const sharing = { kind: 'slots', slotCount: 2, slot } as const;
      const value = `holder ${slot}`;
      const wish = { resources: [resource], ttlMs: 60_000, isFenced: false, waiter: null };
      const claim = { ...alone, ...wish, token: 'holder', value, sharing };
      const { script, keys, args } = calls.toRepair(claim, null);
      stage.server(index).redis.run(script, 'repair', keys, args);
    };
    for (const [index, slot] of [
      [0, 1],
      [1, 1],
      [0, 2],
      [2, 2],
    ] as const)
      put(index, slot);
    const wish = {
      resources: [resource],
      form: 'slots',
      slotCount: 2,
      preemptible: 'never',
    } as const;
    const { known } = stage.program('waiter', { wish, waitMs: 60_000 });
    await stage.pass(10_000);
    const counts = known.endpoints.map(({ scriptCount }) => scriptCount);
    // Two slots and their rollback, eight times in the first second, then once a second.
    expect(Math.max(...counts)).toBeLessThan(70);
    expect(Math.min(...counts)).toBeGreaterThan(10);
  });
});
