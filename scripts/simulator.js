// @ts-check
// Compiles the simulator of test/sim to JavaScript, for the scripts that run it: into node_modules,
// beside a simulated ioredis, which src/ then finds as its ioredis.

import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled } from './installed.js';
import { Failure, root, run } from './program.js';

const cache = join(root, 'node_modules', '.cache', 'redlock-run');

/**
 * Resolves with the path of a compiled file of test/sim.
 * @param {string} file
 * @returns {Promise<string>}
 */
export async function compiledSimulator(file) {
  await ensureInstalled();
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const folder = join(cache, 'sim');
  // What it knows of the files of the last time stands with them, so it goes with them.
  const known = ['--incremental', '--tsBuildInfoFile', join(folder, 'known.tsbuildinfo')];
  const words = [compiler, '-p', join(root, 'test', 'sim'), '--outDir', folder, ...known];
  const { code, output } = await run(process.execPath, words, { notice: 'compiling ...' });
  if (code !== 0) throw new Failure(code, `the simulator does not compile:\n${output}`);
  cpSync(join(root, 'src', 'redis', 'scripts'), join(cache, 'sim', 'src', 'redis', 'scripts'), {
    recursive: true,
  });
  shadowClient();
  return join(cache, 'sim', 'test', 'sim', file);
}

function shadowClient() {
  const folder = join(cache, 'node_modules', 'ioredis');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    '{"name":"ioredis","type":"module","exports":"./index.js"}\n',
  );
  writeFileSync(
    join(folder, 'index.js'),
    "export { Redis } from '../../sim/test/sim/sim-ioredis.js';\n",
  );
}
