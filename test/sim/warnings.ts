// While worlds run, Node's warnings are theirs: a world collects them, and reports them with its
// seed.

import { afterAll, beforeAll } from 'vitest';

/** For a file of tests that simulates: hands the listeners of the tests back at its end. */
export function leaveWarningsToWorlds(): void {
  const listeners = process.listeners('warning');
  beforeAll(() => {
    process.removeAllListeners('warning');
  });
  afterAll(() => {
    for (const listener of listeners) process.on('warning', listener);
  });
}
