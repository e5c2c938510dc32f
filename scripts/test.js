// @ts-check
// `npm test [-- ARGS]`: all suites, on real servers. ARGS are those of vitest, such as `--project
// unit` or a part of a file name; the exit code is that of vitest. `--project standalone` tests the
// executable instead of the built programs, which are compiled first. `--project servers` runs once
// for each server program in REDIS_SERVERS, a list of paths with colons.

import { measurePatience } from './patience.js';
import { Failure, say, script, show, vitest } from './program.js';
import { setUp } from './setup.js';
import { buildStandalone } from './standalone.js';

const words = process.argv.slice(2);

await script(async () => {
  const { factor, nodeMs } = measurePatience();
  say(
    words.length === 0
      ? 'all suites on real servers, about 3 minutes on two cores; ' +
          'npm test -- --project unit takes 20 seconds'
      : `the tests of ${words.join(' ')}`,
  );
  const speed = nodeMs === null ? 'TEST_PATIENCE' : `an empty Node program takes ${nodeMs} ms`;
  say(`limits for a state to come are ${factor} times as long as they must be (${speed})`);
  await setUp({ server: true });
  if (words.some((word) => ['standalone', 'executable'].includes(word))) await buildStandalone();
  const run = () => show(process.execPath, [vitest, 'run', ...words]);
  if (!process.argv.includes('servers')) return run();
  const paths = (process.env.REDIS_SERVERS ?? '').split(':').filter(Boolean);
  if (paths.length === 0)
    throw new Failure(64, 'REDIS_SERVERS: empty (list server programs with colons)');
  let status = 0;
  for (const path of paths) {
    process.env.REDIS_SERVER = path;
    await show(path, ['--version']);
    status = (await run()) || status;
  }
  return status;
});
