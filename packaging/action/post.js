// @ts-check
// The post step of the action, which the runner also runs after a failed or cancelled job: releases
// the lock that the main step has left held.

import { join } from 'node:path';
import { fail, input, required, runWithoutCommands } from './runner.js';

const token = process.env.STATE_token;
if (token) {
  const name = input('name');
  const program = join(required('RUNNER_TEMP'), 'redlock-run', 'bin', 'redlockctl');
  const words = ['release', name, '--literal', '--token', token];
  const { code } = await runWithoutCommands(program, words, { showsOutput: true });
  if (code === 79) fail(`"${name}": the lock was lost while the job ran`);
  else if (code !== 0) fail(`"${name}": not released: exit code ${code}`);
}
