// The child of a run with a lease that ran out before the command was started, because redlock-run
// was suspended. With it such a run ends in the same way as all others.

import type { Child } from './child.ts';

export const neverStarted: Child = {
  started: Promise.resolve(undefined),
  exited: Promise.resolve({
    exit: { kind: 'not-executable', message: 'it was never started' },
    leftCount: 0,
    agoMs: 0,
  }),
  relay: () => {},
  stop: () => {},
  kill: () => Promise.resolve([]),
  countAlive: () => Promise.resolve(0),
};
