// @ts-check
// `npm start -- ARGS`: redlock-run from a checkout, in this process, so that signals, streams and
// exit codes are its own. It uses local masters, unless the arguments or the environment name
// others. It prints nothing of its own when nothing has to be set up; `npm --silent start` silences
// npm as well.

import { join } from 'node:path';
import { root, script } from './program.js';
import { setUp } from './setup.js';

await script(async () => {
  const words = process.argv.slice(2);
  const isLocal = !namesMasters(words);
  await setUp({ server: isLocal });
  const argv = isLocal ? ['--local', ...words] : words;
  process.argv = [process.execPath, join(root, 'bin', 'redlock-run.js'), ...argv];
  await import(new URL('../dist/redlock-run.js', import.meta.url).href);
  return new Promise(() => {}); // It exits by itself.
});

/**
 * Whether --local is not to be added: it is given, masters are named, or nothing is to be locked.
 * @param {readonly string[]} words
 */
function namesMasters(words) {
  const { REDLOCK_MASTERS, REDLOCK_CONFIG } = process.env;
  if (REDLOCK_MASTERS || REDLOCK_CONFIG) return true;
  const end = words.indexOf('--');
  const ours = end === -1 ? words : words.slice(0, end);
  return ours.some((word) => /^(--(local|master|config|help|version)(=.*)?|-[hV])$/.test(word));
}
