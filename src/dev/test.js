// @ts-check
// `npm test [-- ARGS]`: all suites, on real servers; ARGS are vitest's, such as `--project unit` or a part of a file name.
// The exit code is vitest's. `--project standalone` runs the suite of the built
// program on the executable instead. The surprise: the suite of the built program runs what `npm start` runs, freshly compiled.

import { join } from 'node:path';
import { root, script, show } from './program.js';
import { setUp } from './setup.js';
import { buildStandalone } from './standalone.js';

await script(async () => {
  await setUp({ server: true });
  if (process.argv.includes('standalone')) await buildStandalone();
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return show(process.execPath, [vitest, 'run', ...process.argv.slice(2)]);
});
