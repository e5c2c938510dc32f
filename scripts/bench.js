// @ts-check
// `npm run bench -- [NAME...]`: compiles the benchmarks and runs them (test/bench/main.ts).

import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, root, script, show, tsc } from './program.js';
import { setUp } from './setup.js';

const usage = 'npm run bench -- [all|NAME...] [--json FILE] [--plot] [--from FILE]';
const names = 'startup profile cycles contention hand-over cost beside idle'.split(' ');

await script(async () => {
  if (asksForHelp()) {
    process.stdout.write(`Usage: ${usage}\nNames: ${names.join(', ')} (docs/performance.md)\n`);
    return 0;
  }
  await setUp({ server: true });
  const compiled = await show(process.execPath, [tsc, '-p', join(root, 'test', 'bench')]);
  if (compiled !== 0) return compiled;
  const folder = join(root, 'node_modules', '.cache', 'bench');
  // src/system/version.ts reads package.json two folders above itself.
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  const lua = join('src', 'redis', 'scripts');
  cpSync(join(root, lua), join(folder, lua), { recursive: true });
  const main = join(folder, 'test', 'bench', 'main.js');
  return show(process.execPath, [main, ...process.argv.slice(2)]);
});

/** Reads the words before anything is compiled. Throws a Failure. */
function asksForHelp() {
  const options = /** @type {const} */ ({
    json: { type: 'string' },
    plot: { type: 'boolean' },
    from: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  try {
    const { positionals, values } = parseArgs({ allowPositionals: true, options });
    const unknown = positionals.find((name) => ![...names, 'all'].includes(name));
    if (unknown === undefined) return values.help === true;
    throw new Error(`${unknown}: no such benchmark (write ${names.join(', ')} or all)`);
  } catch (error) {
    throw new Failure(64, `bench: ${/** @type {Error} */ (error).message} (usage: ${usage})`);
  }
}
