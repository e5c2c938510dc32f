// A command whose lease ran out before it could be started: we were stopped between the last look at the clock and the start.
// It stands in for the child, so that such a run ends on the same way as all others.

import type { Child } from './child.ts';

export const neverStarted: Child = {
  pid: undefined,
  exited: Promise.resolve({ kind: 'not-executable', message: 'it was never started' }),
  relay: () => {},
  stop: () => {},
  kill: () => Promise.resolve([]),
  aliveCount: () => 0,
};
