// Where redlock-run of the npm package begins: loads the rest with the code kept by an earlier run.
// It is a small bundle of its own; redlock-run.ts is loaded at run time and not imported.

import './no-inspector.ts';

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { areTooFew, tooFew } from '../run/preconditions.ts';
import { codeCacheFolder, openCodeCache } from './code-cache.ts';
import type { main } from './redlock-run.ts';

const folder = path.dirname(fileURLToPath(import.meta.url));
const cache = openCodeCache(codeCacheFolder(process.env));
const core = load();

core.main(process.argv.slice(2), folder).then((code) => {
  cache.keep();
  // At once: connections to frozen masters would keep the event loop alive for seconds.
  process.exit(code);
});

function load(): { readonly main: typeof main } {
  try {
    return cache.load(path.join(folder, 'main.js')) as { readonly main: typeof main };
  } catch (error) {
    if (!areTooFew(error)) throw error;
    process.stderr.write(`redlock-run: ${tooFew}\n`);
    process.exit(69);
  }
}
