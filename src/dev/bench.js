// @ts-check
// `npm run bench -- [startup|cycles|contention|hand-over|cost|guard|all]...`: compiles the benchmarks beside the packages and runs them. What
// they measure, and why it is no test: test/bench/main.ts.

import { join } from 'node:path';
import { root, script, show } from './program.js';
import { setUp } from './setup.js';

await script(async () => {
  await setUp({ server: true });
  const compiled = await show(join(root, 'node_modules', '.bin', 'tsc'), ['-p', join(root, 'test', 'bench')]);
  if (compiled !== 0) return compiled;
  const main = join(root, 'node_modules', '.cache', 'bench', 'test', 'bench', 'main.js');
  return show(process.execPath, [main, ...process.argv.slice(2)]);
});
