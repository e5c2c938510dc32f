// For every suite: a warning of Node in the process of a test fails that test. Most are leaks, of
// listeners or of descriptors, that a user would see on stderr. The programs that tests start are
// looked at by servers/run-cli.ts.

import { afterAll, afterEach, expect } from 'vitest';

const warnings: string[] = [];
const note = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
process.on('warning', note);
// The next file of this process has a listener of its own.
afterAll(() => process.off('warning', note));

afterEach(async () => {
  // Node tells of them a moment later.
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.splice(0), 'warnings of Node').toEqual([]);
});
