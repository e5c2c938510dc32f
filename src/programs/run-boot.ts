// Where redlock-run of the npm package begins: starts the guard, then loads the rest while the
// guard starts. It is a small bundle of its own; redlock-run.ts is loaded at run time and not
// imported.

import './no-inspector.ts';

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { frugal, startEarly } from '../run/guard/guard-process.ts';
import { areTooFew, tooFew } from '../run/preconditions.ts';
import { codeCacheFolder, openCodeCache } from './code-cache.ts';
import type { main } from './redlock-run.ts';

const folder = path.dirname(fileURLToPath(import.meta.url));
const argv = process.argv.slice(2);
const codeFolder = codeCacheFolder(process.env);
const guardArgs = [...frugal, path.join(folder, 'guard.js'), ...(codeFolder ? [codeFolder] : [])];
const guards = startEarly({ file: process.execPath, args: guardArgs }, argv);
const cache = openCodeCache(codeFolder);
const core = load();

core.main(argv, guards).then((code) => {
  guards.spare?.kill();
  cache.keep();
  // At once: connections to frozen masters would keep the event loop alive for seconds.
  process.exit(code);
});

function load(): { readonly main: typeof main } {
  try {
    return cache.load(path.join(folder, 'main.js')) as { readonly main: typeof main };
  } catch (error) {
    if (!areTooFew(error)) throw error;
    guards.spare?.kill();
    process.stderr.write(`redlock-run: ${tooFew}\n`);
    process.exit(69);
  }
}
