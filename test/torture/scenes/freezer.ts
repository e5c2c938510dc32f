// redlock-run or its guard frozen in a cgroup: of version 2, in which SIGKILL ends it, or of
// version 1, in which nothing does. What a run must do meanwhile it must do without it.

import { existsSync, mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import { onGuard, onRun } from '../faults.ts';
import { type Identity, identityOf, isThere } from '../processes.ts';
import type { Scene } from '../scenes.ts';
import { began, isInside, type Stage } from '../stage.ts';
import { now } from '../witness.ts';

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
    // In a PID namespace the command does not say which guard is its own.
    'guard frozen': {
      weight: 12,
      fault: onGuard(guardFrozen, (run, stage) => isHolder(run, stage) && !run.plan.isIsolated),
    },
  },
  ttlsMs: [3_000, 4_000, 5_000],
  mistake: {
    name: 'no-signals-of-our-own',
    breaks: 'redlock-run waits for its guard to stop and to kill the command, however long',
    edits: [
      {
        file: 'run/guard/guarded-command.ts',
        from: 'if (answer && !answer.isDropped) return;',
        to: 'return;',
      },
      {
        file: 'run/guard/guarded-command.ts',
        from: 'if (unkillable) return unkillable;',
        to: 'if (unkillable) return unkillable; return new Promise(() => {});',
      },
    ],
  },
};

function isHolder(run: Contender, stage: Stage): boolean {
  return isInside(stage, run);
}

/** For a while, or until the run has ended, which it is told to do. */
async function guardFrozen(stage: Stage, run: Contender, guard: Identity) {
  const { random } = stage;
  // Its processes would be frozen with it, if it started any.
  if (stage.witness.sectionOf(run.plan.id)?.parent !== guard.pid) return [];
  const isToldToEnd = random.chance(0.5);
  const forMs = random.between(20, 4_000);
  const what = isToldToEnd ? 'guard frozen, redlock-run told to end' : 'guard frozen';
  const done = began(stage, what, run.plan.id);
  await frozen(stage, guard, async () => {
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
  const group = mkdtempSync(join(random.pick(means.freezers), 'redlock-torture-'));
  const isNew = existsSync(join(group, 'cgroup.freeze'));
  const set = (isFrozen: boolean) =>
    isNew
      ? writeFileSync(join(group, 'cgroup.freeze'), isFrozen ? '1' : '0')
      : writeFileSync(join(group, 'freezer.state'), isFrozen ? 'FROZEN' : 'THAWED');
  try {
    writeFileSync(join(group, 'cgroup.procs'), String(target.pid));
    set(true);
    await over();
  } catch {
    // It had ended.
  } finally {
    set(false);
    void removed(group, target);
  }
}

/** A group is removed when its last process has ended. */
async function removed(group: string, target: Identity): Promise<void> {
  for (const endAt = now() + 120; now() < endAt; await sleep(200)) {
    if (isThere(target)) continue;
    try {
      return rmdirSync(group);
    } catch {
      // It is not reaped yet.
    }
  }
}
