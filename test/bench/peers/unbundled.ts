// redlock-run without its bundles: the same source module by module, with the packages of
// node_modules. It is only the reference for the bundles.

import path from 'node:path';
import { main } from '../../../src/programs/redlock-run.ts';

process.exit(await main(process.argv.slice(2), path.resolve('dist')));
