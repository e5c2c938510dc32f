// Runs of which redlock-run or its guard dies or stops at exactly its n-th read, write or fork.
// calls.c does it from inside. Of the executable it reaches the calls that go through the C
// library: what redlock-run sends to the masters and receives, and the moment in which the guard
// starts the command.

import type { Scene } from '../scenes.ts';

/** So many calls are reached in a short run that waits for its turn. */
const callCounts = { 'redlock-run': 120, 'redlock-guard': 60 };

export const calls: Scene = {
  name: 'faults at a call',
  isPossible: ({ calls }) => calls !== null,
  planned: (plan, random) => {
    if (random.chance(0.2)) return plan;
    const program = random.pick(['redlock-run', 'redlock-guard', 'redlock-guard'] as const);
    // Often at the start: there a guard may leave a command behind of which it has told nothing.
    const isAtStart = program === 'redlock-guard' && random.chance(0.25);
    return {
      ...plan,
      call: {
        program,
        number: isAtStart ? 'start' : random.integer(1, callCounts[program]),
        when: random.pick(['before', 'after'] as const),
        signal: random.pick(['SIGKILL', 'SIGSTOP'] as const),
        stoppedMs: random.chance(0.5) ? random.between(20, 1_500) : random.between(1_500, 5_000),
      },
    };
  },
  faults: {},
  ttlsMs: [3_000, 4_000, 5_000],
  mistake: {
    name: 'start-twice',
    breaks: 'the start is sent again when it is not answered soon',
    edits: [
      {
        file: 'run/guard/guarded-command.ts',
        from: '    void answer.then((given) => this.#answered(given));\n',
        to:
          '    void answer.then((given) => this.#answered(given));\n' +
          "    setTimeout(() => this.#isStarting && guard.ask({ kind: 'start', plan }), 1_000);\n",
      },
    ],
  },
};
