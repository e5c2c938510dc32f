// @ts-check
// `npm run bench -- [NAME...]`: compiles the benchmarks and runs them (test/bench/main.ts).

import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, root, script, show } from './program.js';
import { setUp } from './setup.js';

const usage = 'npm run bench -- [all|NAME...] [--json FILE] [--plot] [--from FILE]';
const names = 'startup profile cycles contention hand-over cost beside idle'.split(' ');

/** Whether help is asked for. */
function isHelp() {
  const options = /** @type {const} */ ({
    json: { type: 'string' },
    plot: { type: 'boolean' },
    from: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  let words;
  try {
    words = parseArgs({ allowPositionals: true, options });
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Failure(64, `bench: ${message} (usage: ${usage})`);
  }
  const unknown = words.positionals.find((name) => ![...names, 'all'].includes(name));
  if (unknown !== undefined)
    throw new Failure(
      64,
      `bench: ${unknown}: no such benchmark (write ${names.join(', ')} or all)`,
    );
  return words.values.help === true;
}

await script(async () => {
  if (isHelp()) {
    process.stdout.write(`Usage: ${usage}\nNames: ${names.join(', ')} (docs/performance.md)\n`);
    return 0;
  }
  await setUp({ server: true });
  const compiled = await show(join(root, 'node_modules', '.bin', 'tsc'), [
    '-p',
    join(root, 'test', 'bench'),
  ]);
  if (compiled !== 0) return compiled;
  const folder = join(root, 'node_modules', '.cache', 'bench');
  // src/system/version.ts reads package.json two folders above itself.
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  cpSync(join(root, 'src', 'redis', 'scripts'), join(folder, 'src', 'redis', 'scripts'), {
    recursive: true,
  });
  return show(process.execPath, [
    join(folder, 'test', 'bench', 'main.js'),
    ...process.argv.slice(2),
  ]);
});
