// The clock of the machine from clocks that a test moves: it never goes back, does not stand still
// while the machine sleeps, and errs on the side of too late. (A real sleeping machine is tried
// elsewhere.)

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPlainClock, createSystemClock, maxTimerMs } from '../../../src/system/clock.ts';

/** Three clocks to be moved by hand, and what our clock told of them. */
function rig(hasBoot = true, timerMs: number = maxTimerMs.alone) {
  const at = {
    monotonic: 1_000,
    boot: 50_000,
    isBootReadable: hasBoot,
    wall: 1_800_000_000_000,
  };
  const jumps: number[] = [];
  const sources = {
    monotonic: () => at.monotonic,
    boot: () => (at.isBootReadable ? at.boot : null),
    wall: () => at.wall,
  };
  const clock = createSystemClock((ms) => jumps.push(ms), sources, timerMs);
  const pass = (ms: number) => {
    at.monotonic += ms;
    at.boot += ms;
    at.wall += ms;
  };
  return { at, jumps, pass, clock, begin: clock.now() };
}

describe('now', () => {
  test('goes as the monotonic clock goes, while all agree', () => {
    const { clock, pass, begin, jumps } = rig();
    for (const ms of [0, 1, 250, 3_600_000]) {
      const before = clock.now();
      pass(ms);
      expect(clock.now() - before).toBe(ms);
    }
    expect(clock.now() - begin).toBe(3_600_251);
    expect(jumps).toEqual([]);
  });

  test('counts the time asleep, that the monotonic clock does not, once', () => {
    const { clock, at, begin, jumps } = rig();
    at.boot += 60_000;
    at.wall += 60_000;
    expect(clock.now() - begin).toBe(60_000);
    expect(clock.now() - begin).toBe(60_000);
    expect(jumps).toEqual([60_000]);
  });

  test('counts the time asleep also where only the wall clock shows it', () => {
    const { clock, at, begin } = rig(false);
    at.wall += 60_000;
    expect(clock.now() - begin).toBe(60_000);
  });

  test('a wall clock set forward costs validity, set back it costs nothing', () => {
    const { clock, at, pass, begin } = rig();
    at.wall += 10_000;
    expect(clock.now() - begin).toBe(10_000);
    at.wall -= 3_600_000;
    pass(100);
    expect(clock.now() - begin).toBe(10_100);
  });

  test('a sleep is seen also after the wall clock was set back', () => {
    const { clock, at, begin } = rig(false);
    at.wall -= 3_600_000;
    clock.now();
    at.wall += 60_000;
    expect(clock.now() - begin).toBe(60_000);
  });

  test('a sleep that a wall clock set back hides is seen at once', () => {
    const { clock, at, begin } = rig();
    at.boot += 60_000;
    expect(clock.now() - begin).toBe(60_000);
  });

  test('a boot clock that cannot be read for a time counts again afterwards', () => {
    const { clock, at, pass, begin, jumps } = rig();
    at.isBootReadable = false;
    pass(100);
    expect(clock.now() - begin).toBe(100);
    at.boot += 60_000;
    expect(clock.now() - begin).toBe(100);
    at.isBootReadable = true;
    expect(clock.now() - begin).toBe(60_100);
    expect(jumps).toEqual([60_000]);
  });

  test('the grain of the clocks is no sleep', () => {
    const { clock, at, pass, begin, jumps } = rig();
    for (let count = 0; count < 1_000; count += 1) {
      pass(10);
      at.boot += count % 2 === 0 ? 9 : -9;
      at.wall += count % 3 === 0 ? 4 : -2;
      clock.now();
    }
    expect(clock.now() - begin).toBe(10_000);
    expect(jumps).toEqual([]);
  });

  test('never goes back, nor behind any clock by more than the tolerance', () => {
    const moves = fc.array(
      fc.record({
        pass: fc.nat(1_000),
        boot: fc.nat(100_000),
        wall: fc.integer({ min: -100_000, max: 100_000 }),
      }),
    );
    fc.assert(
      fc.property(moves, (steps) => {
        const { clock, at, pass, begin } = rig();
        let [last, asleepMs, count] = [begin, 0, 0];
        const origin = at.monotonic;
        for (const step of steps) {
          pass(step.pass);
          at.boot += step.boot;
          at.wall += step.boot + step.wall;
          asleepMs += step.boot;
          count += 1;
          const now = clock.now();
          expect(now).toBeGreaterThanOrEqual(last + step.pass);
          expect(now - begin).toBeGreaterThanOrEqual(at.monotonic - origin + asleepMs - 20 * count);
          last = now;
        }
      }),
    );
  });
});

describe('sleep', () => {
  test('lasts so long by the real clock, and not much longer', async () => {
    const clock = createPlainClock();
    const before = performance.now();
    await clock.sleep(60);
    expect(performance.now() - before).toSatisfy((ms) => ms >= 59 && ms < 1_000);
  });

  test.each([0, -5, Number.NEGATIVE_INFINITY])('%d ms are over at once', async (ms) => {
    await createPlainClock().sleep(ms);
  });

  test('ends as soon as it is cancelled, also when it was before', async () => {
    const clock = createPlainClock();
    const cancelled = new AbortController();
    const sleeping = clock.sleep(Number.POSITIVE_INFINITY, cancelled.signal);
    cancelled.abort();
    await sleeping;
    await clock.sleep(Number.POSITIVE_INFINITY, cancelled.signal);
  });

  test('ends when the machine has slept over its end', async () => {
    const { clock, at } = rig();
    const sleeping = clock.sleep(3_600_000);
    at.boot += 3_600_000;
    at.wall += 3_600_000;
    await sleeping; // Looks at the clocks as often as it has a timer.
  });

  test('with long timers it ends as soon as the time of day is seen to be set', async () => {
    const { clock, at } = rig(true, maxTimerMs.guarded);
    const sleeping = clock.sleep(3_600_000);
    at.wall += 3_600_000;
    clock.now();
    await sleeping;
  });

  test('leaves no listener behind', async () => {
    const clock = createPlainClock();
    const { signal } = new AbortController();
    // Node warns of a leak at eleven.
    for (let count = 0; count < 20; count += 1) await clock.sleep(1, signal);
  });
});
