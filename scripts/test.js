// @ts-check
// `npm test [-- ARGS]`: all suites, on real servers. ARGS are those of vitest, such as `--project
// unit` or a part of a file name; the exit code is that of vitest. `--project standalone` tests the
// executable instead of the built programs, which are compiled first.

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
