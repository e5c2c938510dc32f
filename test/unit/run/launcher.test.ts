// A command that was waited for: started while its run still rehearses, it is not taken for a part of that; later, it has a process already.

import { expect, it } from 'vitest';
import type { Clock } from '../../../src/lock/ports.ts';
import type { StartedChild } from '../../../src/run/child.ts';
import { Launcher } from '../../../src/run/launcher.ts';
import { createSystemClock } from '../../../src/system-clock.ts';
import { isPlainShell } from '../../servers/shell.ts';
import { claim, settings } from './rig.ts';

it('is not ended with what the rehearsal leaves behind', async () => {
  const clock = createSystemClock();
  let sleepCount = 0;
  let child: StartedChild | null = null;
  const watched: Clock = {
    now: clock.now,
    async sleep(durationMs, cancelled) {
      sleepCount += 1;
      // The rehearsal has begun, and has a while to go.
      if (sleepCount === 2) child = launcher.launch({ claim, startedAt: clock.now(), validUntil: 1e12, fence: 1 });
      await clock.sleep(durationMs, cancelled);
    },
  };
  const launcher = new Launcher({
    command: ['sleep', '30'],
    runId: 'launched-in-a-rehearsal',
    isForeground: false,
    isolation: null,
    clock: watched,
  });
  const ready: number[] = [];
  await launcher.load();
  await launcher.prepare(true, {
    settings,
    newClaim: () => claim,
    recordOf: () => null,
    rehearseGuard: () => {},
    onReady: ({ pid }) => ready.push(pid),
  });
  const started = child as StartedChild | null;
  expect(sleepCount).toBeGreaterThan(2);
  expect(ready).toEqual([]);
  expect(started?.aliveCount()).toBe(1);
  await clock.sleep(200);
  expect(started?.aliveCount()).toBe(1);
  await started?.kill();
  expect(await started?.exited).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
});

it('is the process that was ready for it, or another where that cannot be', async () => {
  for (const isForeground of [false, true]) {
    const launcher = new Launcher({
      command: ['sh', '-c', 'exit 3'],
      runId: 'launched-after-a-rehearsal',
      isForeground,
      isolation: null,
      clock: createSystemClock(),
    });
    const ready: number[] = [];
    await launcher.load();
    await launcher.prepare(true, {
      settings,
      newClaim: () => claim,
      recordOf: () => null,
      rehearseGuard: () => {},
      onReady: ({ pid }) => ready.push(pid),
    });
    const child = launcher.launch({ claim, startedAt: 0, validUntil: 1e12, fence: 1 });
    expect(ready).toEqual(isForeground || !isPlainShell ? [] : [child.pid]);
    expect(await child.exited).toEqual({ kind: 'exited', code: 3 });
    expect(child.aliveCount()).toBe(0);
    await launcher.close();
  }
});
