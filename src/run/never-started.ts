// A command whose lease ran out before it could be started: redlock-run was stopped between the
// last look at the clock and the start. It stands in for the child, so that such a run ends in the
// same way as all others.

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
