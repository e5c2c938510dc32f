// Runs of which redlock-run or one of its guards dies or stops at exactly its n-th call. calls.c
// does it from inside. Of the executable it reaches the calls that go through the C library: what
// redlock-run sends to the masters and receives. A guard makes all of its calls through it.

import type { Scene } from '../scenes.ts';

/** This many calls are reached in a short run that waits for its turn. */
const callCounts = { 'redlock-run': 120, 'outer-guard': 160, 'inner-guard': 250 };
/** The calls with which a guard starts. */
const startCallCount = 60;

export const calls: Scene = {
  name: 'faults at a call',
  isPossible: ({ calls }) => calls !== null,
  planned: (plan, random) => {
    if (random.chance(0.2)) return plan;
    // The init of a PID namespace gets no signal from within it.
    const guards = plan.isIsolated ? (['outer-guard'] as const) : guardNames;
    const program = random.pick(['redlock-run', ...guards, ...guards] as const);
    const isGuard = program !== 'redlock-run';
    // Between fork and exec: the command may be left behind without a guard that knows of it.
    const isAtStart = isGuard && !plan.isIsolated && random.chance(0.2);
    const count = isGuard && random.chance(0.5) ? startCallCount : callCounts[program];
    return {
      ...plan,
      call: {
        program,
        number: isAtStart ? 'start' : random.integer(1, count),
        when: random.pick(['before', 'after'] as const),
        signal: random.pick(['SIGKILL', 'SIGSTOP'] as const),
        stoppedMs: random.chance(0.5) ? random.between(20, 1_500) : random.between(1_500, 5_000),
      },
    };
  },
  faults: {},
  ttlsMs: [3_000, 4_000, 5_000],
  mistake: {
    name: 'no-subreaper',
    breaks: 'the orphans of a tree leave the guards',
    edits: [
      {
        file: 'guard/guard.c',
        from: 'PR_SET_CHILD_SUBREAPER, 1',
        to: 'PR_SET_CHILD_SUBREAPER, 0',
      },
    ],
  },
};

const guardNames = ['outer-guard', 'inner-guard'] as const;
