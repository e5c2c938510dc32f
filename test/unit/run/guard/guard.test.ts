// The guard's decisions, on a clock that is moved by hand.

import { expect, it } from 'vitest';
import type { Clock } from '../../../../src/lock/ports.ts';
import { Guard } from '../../../../src/run/guard/guard.ts';

class Hand implements Clock {
  #now = 0;
  readonly #sleepers = new Set<() => void>();

  now(): number {
    return this.#now;
  }

  async sleep(durationMs: number, cancelled?: AbortSignal): Promise<void> {
    const wakeAt = this.#now + durationMs;
    while (this.#now < wakeAt && !cancelled?.aborted) {
      await new Promise<void>((resolve) => {
        this.#sleepers.add(resolve);
        cancelled?.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  async moveTo(at: number): Promise<void> {
    while (this.#now < at) {
      this.#now = Math.min(at, this.#now + 10);
      for (const wake of this.#sleepers) wake();
      this.#sleepers.clear();
      await settled();
    }
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

function setUp(guarded: object = {}) {
  const clock = new Hand();
  const log: string[] = [];
  const note = (what: string) => log.push(`${what} at ${clock.now()}`);
  const tree = { stop: () => note('stop'), kill: async () => note('kill'), ...guarded };
  const guard = new Guard({ stopSignal: 'SIGTERM', graceMs: 200 }, tree, clock, () => note('say'));
  return { clock, guard, log };
}

it('stops when no new deadline has come, and kills at the deadline for that', async () => {
  const { clock, guard, log } = setUp();
  guard.arm(1_000, 1_100);
  await clock.moveTo(2_000);
  expect(log).toEqual(['say at 1000', 'stop at 1000', 'kill at 1100']);
});

it('gives the grace, and no more, where the deadline leaves it', async () => {
  const { clock, guard, log } = setUp();
  guard.arm(1_000, 9_000);
  await clock.moveTo(2_000);
  expect(log).toEqual(['say at 1000', 'stop at 1000', 'kill at 1200']);
});

it('waits as long as it is told new deadlines', async () => {
  const { clock, guard, log } = setUp();
  for (let at = 0; at < 5_000; at += 500) {
    guard.arm(at + 1_000, at + 1_200);
    await clock.moveTo(at + 500);
  }
  expect(log).toEqual([]);
  await clock.moveTo(10_000);
  expect(log).toEqual(['say at 5500', 'stop at 5500', 'kill at 5700']);
});

it('is not talked out of it, once it has begun', async () => {
  const { clock, guard, log } = setUp();
  guard.arm(1_000, 1_200);
  await clock.moveTo(1_050);
  guard.arm(9_000, 9_200);
  await clock.moveTo(3_000);
  expect(log).toEqual(['say at 1000', 'stop at 1000', 'kill at 1200']);
});

it('stops at once when redlock-run is gone, and is done when nobody is left', async () => {
  const { clock, guard, log } = setUp();
  guard.arm(1_000, 1_200);
  await clock.moveTo(100);
  const abandoned = guard.abandon().then(() => log.push('done'));
  await clock.moveTo(3_000);
  await abandoned;
  expect(log).toEqual(['stop at 100', 'kill at 300', 'done']);
});

it('kills by the deadline also when redlock-run died late', async () => {
  const { clock, guard, log } = setUp();
  guard.arm(1_000, 1_050);
  await clock.moveTo(990);
  guard.abandon();
  await clock.moveTo(3_000);
  expect(log).toEqual(['stop at 990', 'kill at 1050']);
});

it('waits for nobody in vain', async () => {
  const { guard, log } = setUp({ aliveCount: () => 0 });
  guard.arm(1_000, 1_200);
  await guard.abandon();
  expect(log).toEqual(['stop at 0', 'kill at 0']);
});

it('has nothing to do when redlock-run is gone before there was a lease', async () => {
  const { guard, log } = setUp();
  await guard.abandon();
  expect(log).toEqual([]);
});

it('ends a process that waited to become the command when redlock-run is gone before there was a lease', async () => {
  const { guard, log } = setUp();
  await guard.found();
  await guard.abandon();
  expect(log).toEqual(['kill at 0']);
});

it('kills a command that was started after all seemed over', async () => {
  const { clock, guard, log } = setUp();
  guard.arm(100, 200);
  await guard.found();
  await clock.moveTo(1_000);
  await guard.found();
  expect(log).toEqual(['say at 100', 'stop at 100', 'kill at 200', 'kill at 1000']);
});

it('kills although stopping went wrong', async () => {
  const stop = () => {
    throw new Error('EMFILE');
  };
  const { clock, guard, log } = setUp({ stop });
  guard.arm(100, 200);
  await clock.moveTo(1_000);
  expect(log).toEqual(['say at 100', 'kill at 200']);
});

it('does nothing more when it is told that all is over', async () => {
  const { clock, guard, log } = setUp();
  guard.arm(100, 200);
  guard.finish();
  await guard.abandon();
  await guard.found();
  await clock.moveTo(1_000);
  expect(log).toEqual([]);
});
