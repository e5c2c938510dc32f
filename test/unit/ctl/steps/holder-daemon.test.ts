// What becomes of a bug while a lock is held for another process, and of a release in the first
// moment: see src/ctl/steps/holder-daemon.ts. The rest is tested by the simulator.

import { expect, it } from 'vitest';
import { type HoldRequest, hold } from '../../../../src/ctl/steps/holder-daemon.ts';
import { heldTimings } from '../../../../src/lock/timings.ts';
import { alone } from '../../../../src/lock/types.ts';
import { HandClock } from '../../hand-clock.ts';

/** Holds a lock on masters that do what `redlock` says, and otherwise what is asked. */
function held(clock: HandClock, redlock: object, terms: Partial<HoldRequest>) {
  const claim = {
    ...alone,
    resources: ['x'],
    value: 'token {}',
    token: 'token',
    ttlMs: 3_000,
    isFenced: false,
    waiter: null,
  };
  return hold({
    redlock: {
      attempt: async () => {
        const lease = { claim, startedAt: 0, validUntil: claim.ttlMs };
        return { kind: 'acquired', lease, elapsedMs: 0 };
      },
      subscribe: async () => subscriptionsOf(clock, () => false),
      release: async () => {},
      settled: async () => {},
      ...redlock,
    } as unknown as HoldRequest['redlock'],
    servers: [],
    areServersKnown: false,
    report: () => {},
    clock,
    random: () => 0,
    newClaim: () => claim,
    waiterId: 'waiter',
    waitMs: 0,
    giveUpAfterMs: 0,
    reserveMs: 0,
    aborted: new AbortController().signal,
    listen: null,
    timings: heldTimings(3_000, 100),
    isWanted: () => true,
    handOver: async () => true,
    lineOfEnd: () => null,
    ...terms,
  });
}

function subscriptionsOf(clock: HandClock, isWoken: () => boolean) {
  return {
    pause: (ms: number, over: AbortSignal) => clock.sleep(ms, over),
    get isWoken() {
      return isWoken();
    },
    close: () => {},
  };
}

it('a bug while it extends ends it with that error, and the alarms do not hide it', async () => {
  const clock = new HandClock();
  const holding = held(clock, { extend: () => Promise.reject(new Error('oops')) }, {});
  const outcome = holding.then(
    () => 'held',
    (error: Error) => error.message,
  );
  await clock.moveTo(2_000);
  expect(await outcome).toBe('oops');
});

it('hears of a release that comes in the moment in which it hands the token over', async () => {
  const clock = new HandClock();
  let [isListening, isWoken] = [false, false];
  const subscribe = async () => {
    isListening = true;
    return subscriptionsOf(clock, () => isWoken);
  };
  const handOver = async () => {
    isWoken = isListening;
    return true;
  };
  const holding = held(clock, { subscribe }, { handOver, isWanted: () => false });
  await clock.moveTo(900);
  expect(await holding).toEqual({ kind: 'kept', end: 'released' });
});
