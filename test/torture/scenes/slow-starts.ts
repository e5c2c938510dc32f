// Commands that take long to begin: the kernel waits for the disk that holds the program. calls.c
// holds them up between fork and exec.

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
    name: 'slow-start-is-ended',
    breaks: 'a guard that has to stop a command that has not begun takes it for ended',
    edits: [
      {
        file: 'guard/guard.c',
        from: '  state.phase = phase;\n',
        to:
          '  if (!shared->is_started) { shared->is_done = true; _exit(0); }\n' +
          '  state.phase = phase;\n',
      },
    ],
  },
};
