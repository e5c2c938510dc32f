// Where redlockctl of the npm package begins: loads the rest with the code kept by an earlier call.
// It is a small bundle of its own; redlockctl.ts is loaded at run time and not imported.

import './no-inspector.ts';

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeCacheFolder, openCodeCache } from './code-cache.ts';
import type { main } from './redlockctl.ts';

const folder = path.dirname(fileURLToPath(import.meta.url));
const cache = openCodeCache(codeCacheFolder(process.env));
const core = cache.load(path.join(folder, 'ctl-main.js')) as { readonly main: typeof main };

core.main(process.argv.slice(2)).then((code) => {
  cache.keep();
  // At once: connections to frozen masters would keep the event loop alive for seconds.
  process.exit(code);
});
