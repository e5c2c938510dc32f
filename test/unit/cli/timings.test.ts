// The durations that depend on each other: derived values, refused values, and no unsafe ones.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { defaultDriftFactor } from '../../../src/lock/quorum.ts';
import { dangerOf, runTimings, stopAtMsOf } from '../../../src/lock/timings.ts';
import { failure, type Scene } from '../config/scratch.ts';

describe('timings', () => {
  test.each([
    // ttl, masterTimeout, killAfter -> masterTimeout, grace, margin, extendEvery
    [30_000, null, null, 1_500, 5_000, 1_000, 10_000],
    [10_000, null, null, 500, 3_333, 1_000, 3_333],
    [1_000, null, null, 50, 333, 167, 333],
    [600_000, null, null, 2_000, 5_000, 1_000, 200_000],
    [86_400_000, null, null, 2_000, 5_000, 1_000, 28_800_000],
    [500, null, null, 50, 166, 83, 94],
    [30_000, 5_000, null, 5_000, 5_000, 1_000, 8_698],
    [30_000, 1_500, 15_000, 1_500, 15_000, 1_000, 9_198],
    [30_000, null, 0, 1_500, 0, 1_000, 10_000],
  ])('%d, %j, %j', (ttlMs, timeout, grace, masterTimeoutMs, graceMs, marginMs, extendEveryMs) => {
    const timings = runTimings(ttlMs, timeout, grace);
    expect(timings).toEqual({
      ttlMs,
      masterTimeoutMs,
      reserveMs: graceMs + marginMs,
      extendEveryMs,
      graceMs,
      marginMs,
      driftFactor: defaultDriftFactor,
    });
    expect(dangerOf(timings, true)).toBeNull();
  });

  const timings = fc
    .tuple(
      fc.integer({ min: 1, max: 100_000 }),
      fc.option(fc.integer({ min: 1, max: 60_000 })),
      fc.option(fc.nat(60_000)),
    )
    .map(([ttlMs, timeout, grace]) => runTimings(ttlMs, timeout, grace));

  it('leave room for two attempts to extend before the command is stopped, or are refused', () => {
    fc.assert(
      fc.property(timings, (found) => {
        fc.pre(dangerOf(found, true) === null);
        const slowest = 1.5 * found.masterTimeoutMs;
        expect(found.extendEveryMs).toBeGreaterThan(0);
        expect(found.extendEveryMs).toBeLessThanOrEqual(found.ttlMs / 3);
        expect(found.extendEveryMs + 2 * slowest).toBeLessThanOrEqual(stopAtMsOf(found));
        expect(stopAtMsOf(found) + found.graceMs + found.marginMs).toBeLessThan(found.ttlMs);
      }),
    );
  });

  it('are whole milliseconds', () => {
    fc.assert(
      fc.property(timings, ({ driftFactor, ...durations }) => {
        expect(Object.values(durations).every((value) => Number.isInteger(value))).toBe(true);
      }),
    );
  });

  it('are never refused for a ttl of half a second or more without other settings', () => {
    fc.assert(
      fc.property(fc.integer({ min: 500, max: 86_400_000 }), (ttlMs) => {
        expect(dangerOf(runTimings(ttlMs, null, null), true)).toBeNull();
      }),
    );
  });

  test.each<[Scene, string, number]>([
    [{ flags: ['--ttl', '40ms'] }, 'the lock could run out before a master has answered', 64],
    [{ flags: ['-k', '19s'] }, 'no time left to stop the command', 64],
    [
      { flags: ['--ttl', '5s', '-k', '5s'] },
      '--ttl: with --kill-after: ttl 5s, killAfter 5s, masterTimeout 250ms: no time left',
      64,
    ],
    [{ flags: ['--ttl', '200ms'] }, 'no time for two extensions', 64],
    [{ environment: { REDLOCK_MASTER_TIMEOUT: '8s' } }, 'no time for two extensions', 78],
    [{ environment: { REDLOCK_MASTER_TIMEOUT: '30s' } }, 'before a master has answered', 78],
    [
      { environment: { REDLOCK_MASTER_TIMEOUT: '8s' }, flags: ['--ttl', '30s'] },
      'two extensions',
      64,
    ],
    [{ file: 'ttl: 5\nkillAfter: 5' }, 'no time left to stop the command', 78],
    [{ file: 'killAfter: 5', flags: ['--ttl', '5s'] }, 'no time left to stop the command', 64],
  ])('%j are refused', async (scene, message, exitCode) => {
    const found = await failure({ ...scene, flags: ['--local', ...(scene.flags ?? [])] });
    expect(found).toMatchObject({ exitCode, message: expect.stringContaining(message) });
    expect(found.message).toMatch(
      /: ttl \S+, killAfter \S+, masterTimeout \S+: .* \(raise ttl.*\)$/,
    );
  });
});
