// redlock-run without its bundles: the same source module by module, with the packages of
// node_modules and a guard that is started on demand. It is only the reference for the bundles.

import { fileURLToPath } from 'node:url';
import { main } from '../../../src/programs/redlock-run.ts';

const guard = fileURLToPath(new URL('../../../src/programs/guard.js', import.meta.url));
const program = { file: process.execPath, args: [guard] };
process.exit(await main(process.argv.slice(2), { program, spare: null }));
