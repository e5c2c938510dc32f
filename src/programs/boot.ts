// Where both programs of the npm package begin: loads the rest with the code kept by an earlier
// run. It is a small bundle for each; the programs are loaded at run time and not imported.

import './no-inspector.ts';

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { areTooFew, tooFew } from '../run/preconditions.ts';
import { codeCacheFolder, openCodeCache } from './code-cache.ts';

interface Core {
  main(argv: readonly string[], folder?: string): Promise<number>;
}

const bundle = fileURLToPath(import.meta.url);
const folder = path.dirname(bundle);
const isCtl = path.basename(bundle) === 'ctl.js';
const cache = openCodeCache(codeCacheFolder(process.env));
const core = load();
const argv = process.argv.slice(2);

(isCtl ? core.main(argv) : core.main(argv, folder)).then((code) => {
  cache.keep();
  // At once: connections to frozen masters would keep the event loop alive for seconds.
  process.exit(code);
});

function load(): Core {
  try {
    return cache.load(path.join(folder, isCtl ? 'ctl-main.js' : 'main.js')) as Core;
  } catch (error) {
    if (!areTooFew(error)) throw error;
    process.stderr.write(`${isCtl ? 'redlockctl' : 'redlock-run'}: ${tooFew}\n`);
    process.exit(69);
  }
}
