// @ts-check
// `npm run bench -- [startup|profile|cycles|contention|hand-over|cost|guard|idle|all]...`: compiles
// the benchmarks and runs them (test/bench/main.ts).

import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { root, script, show } from './program.js';
import { setUp } from './setup.js';

await script(async () => {
  await setUp({ server: true });
  const compiled = await show(join(root, 'node_modules', '.bin', 'tsc'), [
    '-p',
    join(root, 'test', 'bench'),
  ]);
  if (compiled !== 0) return compiled;
  const folder = join(root, 'node_modules', '.cache', 'bench');
  // src/cli/version.ts reads package.json two folders above itself.
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  cpSync(join(root, 'src', 'redis', 'scripts'), join(folder, 'src', 'redis', 'scripts'), {
    recursive: true,
  });
  return show(process.execPath, [
    join(folder, 'test', 'bench', 'main.js'),
    ...process.argv.slice(2),
  ]);
});
