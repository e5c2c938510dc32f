// redlock-run or one of its guards frozen in a cgroup: of version 2, in which SIGKILL ends it, or
// of version 1, in which nothing does. What a run must do during that time it must do without it.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import { type Guard, onGuard, onRun } from '../faults.ts';
import { newGroup, putInto, removed, setFrozen } from '../groups.ts';
import { type Identity, identityOf } from '../processes.ts';
import type { Scene } from '../scenes.ts';
import { began, isInside, type Stage } from '../stage.ts';

/** A run that is told to end ends within its grace and margin; the rest is for a busy machine. */
const endWithinMs = 20_000;

export const freezer: Scene = {
  name: 'freezer',
  isPossible: ({ freezers }) => freezers.length > 0,
  planned: (plan) => plan,
  faults: {
    'redlock-run frozen': {
      weight: 6,
      fault: onRun(async (stage, run) => {
        const self = identityOf(run.pid);
        if (self === null) return [];
        const done = began(stage, 'redlock-run frozen', run.plan.id);
        await frozen(stage, self, () => sleep(stage.random.between(20, 1.6 * stage.ttlMs)));
        return [done];
      }, isHolder),
    },
    // What it starts would be frozen with it.
    'guard frozen': { weight: 12, fault: onGuard(guardFrozen, isHolder) },
  },
  ttlsMs: [3_000, 4_000, 5_000],
  mistake: {
    name: 'end-of-inner-awaited',
    breaks: 'the outer guard acts only when the inner one, which it has killed, has ended',
    edits: [
      { file: 'guard/guard.c', from: '    is_alone = true; /* Its end', to: '    /* Its end' },
    ],
  },
};

function isHolder(run: Contender, stage: Stage): boolean {
  return isInside(stage, run);
}

/** For a while, or until the run has ended, which it is told to do. */
async function guardFrozen(stage: Stage, run: Contender, guard: Guard) {
  const { random } = stage;
  const isToldToEnd = random.chance(0.5);
  const forMs = random.between(20, 4_000);
  const what = `${guard.name} frozen${isToldToEnd ? ', redlock-run told to end' : ''}`;
  const done = began(stage, what, run.plan.id);
  await frozen(stage, guard.process, async () => {
    if (!isToldToEnd) return sleep(forMs);
    run.signal('SIGTERM');
    const { ended } = run;
    const hasEnded = await Promise.race([ended.then(() => true), sleep(endWithinMs, false)]);
    if (hasEnded) return;
    const text = `run ${run.plan.id} goes on ${endWithinMs / 1000} s after SIGTERM`;
    stage.accuse({ kind: 'endless', what: text, runs: [run.plan.id] });
  });
  return [done];
}

/** Freezes a process until `over`. */
async function frozen({ random, means }: Stage, target: Identity, over: () => Promise<unknown>) {
  const group = newGroup(random.pick(means.freezers));
  try {
    putInto(group, target.pid);
    setFrozen(group, true);
    await over();
  } catch {
    // It had ended.
  } finally {
    setFrozen(group, false);
    void removed(group);
  }
}
