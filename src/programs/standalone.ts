// The entry of the executable for hosts without Node: both programs in one file, which acts by the
// name in argv[0]. The guard is a file beside it.

import './no-inspector.ts';

import path from 'node:path';

const folder = path.dirname(process.execPath);
const argv = process.argv.slice(2);

/** Under any other name the file is redlock-run. */
const isCtl = path.basename(process.argv0) === 'redlockctl';

(isCtl ? redlockctl() : redlockRun()).then((code) => process.exit(code));

async function redlockRun(): Promise<number> {
  const { main } = await import('./redlock-run.ts');
  return main(argv, folder);
}

async function redlockctl(): Promise<number> {
  const { main } = await import('./redlockctl.ts');
  return main(argv, { file: process.execPath, args: [], folder });
}
