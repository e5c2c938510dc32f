// Where the npm package begins: starts the guard, then loads the rest while the guard starts beside it. Decides nothing. The
// surprise: the guard is started before a word has been read that matters, because nothing else takes so long. When it turns
// out that nothing is going to run, it is ended again before it has done anything.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeCacheFolder, openCodeCache } from './code-cache.ts';
import type { main } from './main.ts';
import { frugal, GuardProcess } from './run/guard/guard-process.ts';

const folder = path.dirname(fileURLToPath(import.meta.url));
const argv = process.argv.slice(2);
const program = { file: process.execPath, words: [...frugal, path.join(folder, 'guard.js')] };
const spare = isLikelyToRun(argv) ? new GuardProcess(program) : null;
const cache = openCodeCache(codeCacheFolder(process.env));
const bundle = cache.load(path.join(folder, 'main.js')) as { main: typeof main };

bundle.main(argv, { program, spare }).then((code) => {
  spare?.kill();
  cache.keep();
  // At once: connections to masters that have frozen would keep the loop alive for seconds.
  process.exit(code);
});

/** A guess that costs nothing but time when it is wrong. */
function isLikelyToRun(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  const ours = end === -1 ? words : words.slice(0, end);
  return words.length > 1 && !ours.some((word) => /^(-[hV]|--(help|version|dry-run))$/.test(word));
}
