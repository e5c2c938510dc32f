// A command that is started while whoever has waited for its lock still rehearses: the rehearsal does not take it for its own.

import { expect, it } from 'vitest';
import type { Clock } from '../../../src/lock/ports.ts';
import type { StartedChild } from '../../../src/run/child.ts';
import { Launcher } from '../../../src/run/launcher.ts';
import { createSystemClock } from '../../../src/system-clock.ts';
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
  await launcher.load();
  await launcher.prepare(true, {
    settings,
    newClaim: () => claim,
    recordOf: () => null,
    rehearseGuard: () => {},
    onReady: () => {},
  });
  const started = child as StartedChild | null;
  expect(sleepCount).toBeGreaterThan(2);
  expect(started?.aliveCount()).toBe(1);
  await clock.sleep(200);
  expect(started?.aliveCount()).toBe(1);
  await started?.kill();
  expect(await started?.exited).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
});
