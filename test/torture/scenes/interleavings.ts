// redlock-run and its guard stopped in turn, each for a while that may reach beyond a deadline, and
// never together, which is a documented exception: one of the two is always well.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import { onGuard } from '../faults.ts';
import { canAct, type Identity, isThere, signal } from '../processes.ts';
import type { Scene } from '../scenes.ts';
import { began, type Done, isInside, type Stage } from '../stage.ts';

export const interleavings: Scene = {
  name: 'stopped in turn',
  isPossible: () => true,
  planned: (plan) => plan,
  faults: {
    'stopped in turn': { weight: 30, fault: onGuard(inTurn, (run, stage) => isInside(stage, run)) },
  },
  ttlsMs: [3_000, 4_000],
  mistake: {
    name: 'deadlines-from-the-reading',
    breaks: 'a deadline counts from when the guard has read it',
    edits: [
      {
        file: 'programs/guard.ts',
        from: 'clock.now() - mostMsSince(readings, readingsNow()) + config.slackMs',
        to: 'clock.now() + config.slackMs',
      },
    ],
  },
};

async function inTurn(stage: Stage, run: Contender, guard: Identity): Promise<readonly Done[]> {
  const { random, ttlMs } = stage;
  const done: Done[] = [];
  const isWell = () => isThere(guard) && canAct(guard.pid) && !run.hasEnded;
  for (let turns = random.integer(1, 4); turns > 0 && isWell(); turns -= 1) {
    done.push(began(stage, 'guard stopped in turn', run.plan.id));
    signal(guard, 'SIGSTOP');
    await sleep(random.between(20, random.pick([300, 2_000])));
    signal(guard, 'SIGCONT');
    if (random.chance(0.5)) await sleep(random.around(20));
    if (!isWell()) break;
    done.push(began(stage, 'redlock-run stopped in turn', run.plan.id));
    run.signal('SIGSTOP');
    // It may have ended its guard in the moment before.
    if (isWell()) await sleep(random.between(20, random.pick([300, 1.6 * ttlMs])));
    run.signal('SIGCONT');
    if (random.chance(0.5)) await sleep(random.around(50));
  }
  if (random.chance(0.5) && isWell()) {
    const isGuard = random.chance(0.5);
    done.push(began(stage, isGuard ? 'guard killed' : 'redlock-run killed', run.plan.id));
    if (isGuard) signal(guard, 'SIGKILL');
    else run.signal('SIGKILL');
  }
  return done;
}
