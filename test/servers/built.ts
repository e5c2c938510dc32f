// Before the tests of a suite that starts the built programs: makes dist/ from src/ where it is
// older, as `npm test` does, so that vitest by itself does not test the code of before. Where src/
// does not compile, no test runs.

import { ensureBuilt } from '../../scripts/built.js';
import { Failure, say } from '../../scripts/program.js';

export async function setup(): Promise<void> {
  try {
    await ensureBuilt();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    say(error.message);
    process.exit(error.exitCode);
  }
}
