// Which answers a release waits for, on masters that answer when the test says so.

import { expect, it } from 'vitest';
import type { Master } from '../../../src/lock/ports.ts';
import { Redlock } from '../../../src/lock/redlock.ts';
import {
  type AcquireReply,
  alone,
  type ExtendReply,
  type Granted,
  type ReleaseReply,
} from '../../../src/lock/types.ts';
import { HandClock, settled } from '../hand-clock.ts';

const never = new Promise<never>(() => {});
const granted = (fence: number): Granted => ({ kind: 'granted', fence });
const extended: ExtendReply = { kind: 'extended', masterTimeMs: 0 };
const released: ReleaseReply = { kind: 'released' };

function master(
  name: string,
  acquired: Promise<AcquireReply>,
  extension: Promise<ExtendReply>,
  release: Promise<ReleaseReply>,
): Master {
  return {
    name,
    acquire: () => acquired,
    extend: () => extension,
    repair: () => never,
    release: () => release,
    rollback: () => never,
    dequeue: () => never,
    subscribe: () => never,
  };
}

const claim = {
  ...alone,
  resources: ['x'],
  token: 'token',
  value: 'value',
  ttlMs: 10_000,
  isFenced: true,
  waiter: null,
};

// The fences differ, so the lock is extended as soon as it is granted: by b without an answer, and
// by c, which still looks whether it has restarted, before it can say that it has granted.
it('waits for a master that answered last, whatever it still owes', async () => {
  const clock = new HandClock();
  const late = clock.sleep(20).then(() => released);
  const masters = [
    master('a', Promise.resolve(granted(7)), Promise.resolve(extended), Promise.resolve(released)),
    master('b', Promise.resolve(granted(8)), never, late),
    master('c', never, Promise.resolve(extended), late),
  ];
  const settings = { masterTimeoutMs: 500, reserveMs: 0, driftFactor: 0 };
  const redlock = new Redlock(masters, clock, settings, () => {});
  const attempt = await redlock.attempt(claim, new AbortController().signal);
  expect(attempt).toMatchObject({ kind: 'acquired', grantedCount: 2 });
  const releasing = redlock.releaseOnQuorum(claim);
  await settled();
  await clock.moveTo(20);
  expect(await releasing).toMatchObject({ isConfirmed: true, releasedCount: 2 });
});

it('tells which masters have not answered a write-back of the fence', async () => {
  const clock = new HandClock();
  const failed = { kind: 'failed', cause: 'connection', message: 'reset' } as const;
  const acquired = [granted(7), granted(8), failed];
  const masters = acquired.map((vote, at) => {
    const extension = at === 0 ? extended : failed;
    return master(`m${at}`, Promise.resolve(vote), Promise.resolve(extension as never), never);
  });
  const settings = { masterTimeoutMs: 500, reserveMs: 0, driftFactor: 0 };
  const redlock = new Redlock(masters, clock, settings, () => {});
  expect(await redlock.attempt(claim, new AbortController().signal)).toMatchObject({
    kind: 'unreachable',
    failures: [{ master: 'm1' }, { master: 'm2' }],
  });
});
