// @ts-check
// `npm run torture -- [--minutes N --seed S --help]`: compiles test/torture and runs it: real runs
// on real servers, faults by chance, and a witness of its own. Exits 1 on a finding.

import { join } from 'node:path';
import { Failure, root, say, script, show, tsc } from './program.js';
import { setUp } from './setup.js';
import { buildStandalone } from './standalone.js';

await script(async () => {
  await setUp({ server: true });
  try {
    if (!process.argv.includes('--help')) await buildStandalone();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    say(`without the executable: ${error.message.split('\n')[0]}`);
  }
  const compiled = await show(process.execPath, [tsc, '-p', join(root, 'test', 'torture')]);
  if (compiled !== 0) return compiled;
  const main = join(root, 'node_modules', '.cache', 'torture', 'test', 'torture', 'main.js');
  return show(process.execPath, [main, ...process.argv.slice(2)]);
});
