// The entry of the executable for hosts without Node: all programs in one file, which acts by the
// name in argv[0]. The guard is one of them: redlock-run starts its own file under that name.

import './no-inspector.ts';

import path from 'node:path';
import { startEarly } from '../run/guard/guard-process.ts';
import { guardName } from '../run/guard/protocol.ts';
import { main } from './redlock-run.ts';

/** The programs by the name in argv[0]; under any other name the file is redlock-run. */
const programs: Readonly<Record<string, () => Promise<unknown>>> = {
  [guardName]: () => import('./guard.ts'),
  redlockctl,
};

(programs[path.basename(process.argv0)] ?? redlockRun)();

async function redlockRun(): Promise<void> {
  const argv = process.argv.slice(2);
  const guards = startEarly({ file: process.execPath, args: [] }, argv);
  const code = await main(argv, guards);
  guards.spare?.kill();
  process.exit(code);
}

async function redlockctl(): Promise<void> {
  const { main } = await import('./redlockctl.ts');
  const program = { file: process.execPath, args: [], guardArgs: [] };
  process.exit(await main(process.argv.slice(2), program));
}
