// Commands that take long to begin: the guard waits in the kernel for as long as the disk takes
// that holds the program. calls.c holds them up between fork and exec.

import type { Scene } from '../scenes.ts';

export const slowStarts: Scene = {
  name: 'slow starts',
  isPossible: ({ calls }) => calls !== null,
  planned: (plan, random) => {
    return { ...plan, startMs: random.pick([0, 300, 2_600, 7_000]) };
  },
  faults: {},
  ttlsMs: [3_000, 4_000, 5_000],
  mistake: {
    name: 'slow-start-is-dead',
    breaks: 'a guard that starts the command is ended for not answering',
    edits: [
      {
        file: 'run/guard/watch.ts',
        from: 'return isOwing && !isStarting();',
        to: 'return isOwing;',
      },
    ],
  },
};
