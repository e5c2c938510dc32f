// The clock and the timer of the kernel that go on while the machine sleeps, as far as a machine
// that is awake can show it.

import { once } from 'node:events';
import os from 'node:os';
import { expect, test } from 'vitest';
import { loadBootClock } from '../../../../src/run/processes/libc.ts';

const clock = loadBootClock();

test.runIf(process.platform === 'linux')(
  'it rings once, so long after it was set last',
  async () => {
    const rings: number[] = [];
    const setAlarm = clock?.alarm(() => rings.push(performance.now()));
    const setAt = performance.now();
    setAlarm?.(3_600_000);
    setAlarm?.(40);
    await once(process, 'SIGURG');
    expect((rings[0] ?? 0) - setAt).toBeGreaterThanOrEqual(39);
    setAlarm?.(20);
    setAlarm?.(null);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(rings).toHaveLength(1);
  },
);

test.runIf(process.platform === 'linux')('it counts from the start of the machine, as Node', () => {
  const before = os.uptime() * 1000;
  const now = clock?.boot() ?? Number.NaN;
  expect(now).toBeGreaterThanOrEqual(before - 10);
  expect(now).toBeLessThanOrEqual(os.uptime() * 1000 + 20);
});
