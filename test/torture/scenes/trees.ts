// Commands with deep and wide trees of processes, within the bound that the documentation names
// (docs/supervision.md): their processes write no lines, or the log would be all that they do.

import type { Scene } from '../scenes.ts';

/** See section.pl. */
const treeShapes = ['nested', 'wide', 'forks'] as const;

export const trees: Scene = {
  name: 'deep and wide trees',
  isPossible: () => true,
  planned: (plan, random) => {
    // A few of them: what is promised is promised of a job, not of ten beside each other.
    return random.chance(0.3) ? { ...plan, shape: random.pick(treeShapes) } : plan;
  },
  faults: {},
  ttlsMs: [10_000],
  mistake: {
    name: 'group-only',
    breaks: 'SIGKILL goes to the group of the command only',
    edits: [
      {
        file: 'guard/guard.c',
        from: '  kill_children();\n  if (reap()) return;\n',
        to: '  if (reap() || !is_foreground) return;\n',
      },
    ],
  },
};
