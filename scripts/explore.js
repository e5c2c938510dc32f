// @ts-check
// `npm run explore [-- WORLD... --mutant NAME --states N --depth N]`: all schedules of the small
// worlds of test/sim/explore. Exits 1 when a property breaks, or when a mutant breaks none.

import { join } from 'node:path';
import { script, show } from './program.js';
import { compiledSimulator } from './simulator.js';

await script(async () =>
  show(process.execPath, [
    await compiledSimulator(join('explore', 'main.js')),
    ...process.argv.slice(2),
  ]),
);
