// A master that refuses in the right form and lies: about slots, about the time of day, about the
// holder. The other two of three are real. What it says is a minority's word and decides nothing.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Claim } from '../../src/lock/types.ts';
import { waitForLock } from '../../src/lock/wait.ts';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import {
  bulk,
  type HostileMaster,
  list,
  startHostile,
  toScripts,
} from '../servers/hostile-master.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { clock, handleOn, lasting, never, newClaim, type Rig, redlockOn } from './rig.ts';

let masters: TestMaster[] = [];
let proxies: FaultyProxy[] = [];
beforeAll(async () => {
  masters = await startMasters(2);
  proxies = await Promise.all(masters.map((master) => FaultyProxy.start(master.url)));
});
beforeEach(async () => {
  for (const master of masters) await master.flush();
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.stop();
  await stopAll();
  nothingLeft();
});

function liarThatSays(reply: string): Promise<HostileMaster> {
  return startHostile(toScripts(() => reply));
}

const now = [`:${Math.floor(Date.now() / 1_000)}\r\n`, ':5\r\n'];
/** The answers of the liar come first, those of the others one after the other. */
async function behind(liar: HostileMaster): Promise<Rig> {
  for (const [index, proxy] of proxies.entries()) proxy.delay(30 + 60 * index);
  const rig = redlockOn([liar.url, ...proxies]);
  await Promise.all(rig.masters.map((master) => master.identify()));
  return rig;
}

function acquireBy(rig: Rig, claim: Partial<Claim>, waitMs: number | null, aborted = never()) {
  const report = (event: Rig['events'][number]) => rig.events.push(event);
  const waiterId = randomBytes(6).toString('hex');
  const newOne = () => newClaim(claim);
  const parts = {
    redlock: rig.redlock,
    clock,
    random: Math.random,
    report,
    newClaim: newOne,
    waiterId,
  };
  return waitForLock({ ...parts, waitMs, giveUpAfterMs: 10_000, aborted });
}

describe('slots', () => {
  const onSlot = (slot: number) => ({ sharing: { kind: 'slots', slotCount: 2, slot } }) as const;
  const free = (...slots: number[]) =>
    list(
      ':0\r\n',
      bulk('slots 2'),
      ':0\r\n',
      ':-1\r\n',
      ...now,
      bulk(''),
      list(...slots.map((one) => `:${one}\r\n`)),
      ':0\r\n',
    );

  async function holdSlots(...slots: number[]): Promise<void> {
    for (const slot of slots) {
      const attempt = await redlockOn(masters).redlock.attempt(newClaim(onSlot(slot)), lasting);
      expect(attempt.kind).toBe('acquired');
    }
  }

  test.each([[77], [3], [77, 77, 78], [1, 1, 1]])(
    'that a liar calls free (%i, ...) let no third in where two may be',
    async (...slots) => {
      await holdSlots(1);
      const liar = await liarThatSays(free(...slots));
      expect((await acquireBy(await behind(liar), onSlot(1), 0)).kind).toBe('acquired');
      expect((await acquireBy(await behind(liar), onSlot(1), 0)).kind).toBe('busy');
      expect((await acquireBy(redlockOn(masters), onSlot(2), 0)).kind).toBe('busy');
      for (const master of masters) expect(await master.command('zcard', '{r}:holders')).toBe(2);
    },
  );

  test('that are free are found, whatever a liar calls free', async () => {
    await holdSlots(1);
    const rig = await behind(await liarThatSays(free(77, 77, 77, 1)));
    const acquisition = await acquireBy(rig, onSlot(1), 0);
    expect(acquisition).toMatchObject({ kind: 'acquired', lease: { claim: onSlot(2) } });
    expect(rig.events.map(({ kind }) => kind)).not.toContain('waiting');
  });

  test('that there are not are neither granted nor repaired by a master', async () => {
    const handle = handleOn(masters[0] as TestMaster);
    for (const slot of [0, 3, 77]) {
      expect(await handle.acquire(newClaim(onSlot(slot)), lasting)).toMatchObject({
        kind: 'refused',
        freeSlots: [1, 2],
      });
      expect(await handle.repair(newClaim(onSlot(slot)), null, lasting)).toEqual({ kind: 'taken' });
    }
    expect(await masters[0]?.keys()).toEqual([]);
  });
});

describe('a lock that another holds', () => {
  const refused = (holder: string, [seconds, micros] = now) =>
    list(
      ...[':0\r\n', bulk(holder), ':60000\r\n', ':-1\r\n'],
      ...[seconds as string, micros as string, bulk(''), list(), ':0\r\n'],
    );
  beforeEach(async () => {
    for (const master of masters) await master.command('set', 'r', 'them', 'px', 60_000);
  });

  test.each([
    ['1970', ':0\r\n'],
    ['2200', ':7258118400\r\n'],
  ])(
    'a place in the queue is that of now, also where a master says that it is %s',
    async (_, seconds) => {
      const rig = await behind(await liarThatSays(refused('them', [seconds, ':0\r\n'])));
      const ended = new AbortController();
      const acquisition = acquireBy(rig, {}, null, ended.signal);
      const score = async (master: TestMaster) =>
        Number(((await master.command('zrange', '{r}:queue', 0, 0, 'withscores')) as string[])[1]);
      for (const master of masters) {
        await eventually('a place', async () => Number.isFinite(await score(master)));
        expect(Math.abs((await score(master)) / 1_000 - Date.now())).toBeLessThan(60_000);
      }
      ended.abort();
      expect(await acquisition).toEqual({ kind: 'aborted' });
    },
  );

  test('the holder is told that most masters show', async () => {
    const rig = await behind(await liarThatSays(refused('a false one')));
    expect(await acquireBy(rig, {}, 0)).toMatchObject({
      kind: 'busy',
      holder: 'them',
      holderCount: 1,
    });
  });

  test('no holder is told where most masters show none', async () => {
    for (const master of masters) {
      await master.flush();
      await master.command('zadd', '{r}:queue', 1, 'first');
      await master.command('zadd', '{r}:waiters', 9e15, 'first');
    }
    const rig = await behind(await liarThatSays(refused('a false one')));
    expect(await acquireBy(rig, {}, 0)).toMatchObject({ kind: 'busy', holder: '' });
  });
});
