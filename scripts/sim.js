// @ts-check
// `npm run sim [-- --seed N --runs N --profile fair|hostile|NAME --log --mutant NAME --mutants
// --pictures]`: compiles the simulator of test/sim to JavaScript and runs it. Exits 1 when a fair
// world breaks a property, or a hostile one breaks none.

import { script, show } from './program.js';
import { compiledSimulator } from './simulator.js';

await script(async () =>
  show(process.execPath, [await compiledSimulator('main.js'), ...process.argv.slice(2)]),
);
