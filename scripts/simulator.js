// @ts-check
// `npm run sim` and `npm run explore`: compiles the simulator of test/sim to JavaScript and runs
// one of its programs. It is compiled into node_modules, beside a simulated ioredis, which src/
// then finds as its ioredis.

import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureInstalled } from './installed.js';
import { Failure, root, run, script, show, tsc } from './program.js';

const cache = join(root, 'node_modules', '.cache', 'redlock-run');

await script(async () => {
  const [program = '', ...words] = process.argv.slice(2);
  await ensureInstalled();
  const folder = join(cache, 'sim');
  // What it knows of the files of the last time is beside them, so it goes with them.
  const known = ['--incremental', '--tsBuildInfoFile', join(folder, 'known.tsbuildinfo')];
  const compilation = [tsc, '-p', join(root, 'test', 'sim'), '--outDir', folder, ...known];
  const { code, output } = await run(process.execPath, compilation, { notice: 'compiling ...' });
  if (code !== 0) throw new Failure(code, `the simulator does not compile:\n${output}`);
  const lua = join('src', 'redis', 'scripts');
  cpSync(join(root, lua), join(folder, lua), { recursive: true });
  const client = join(cache, 'node_modules', 'ioredis');
  mkdirSync(client, { recursive: true });
  const manifest = { name: 'ioredis', type: 'module', exports: './index.js' };
  writeFileSync(join(client, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(client, 'index.js'),
    "export { Redis } from '../../sim/test/sim/sim-ioredis.js';\n",
  );
  return show(process.execPath, [join(folder, 'test', 'sim', program), ...words]);
});
