// @ts-check
// `npm run build`: makes dist/ from src/ when it is out of date; with --standalone, as `npm run
// build:standalone`, also the executable for hosts without Node.

import { script } from './program.js';
import { setUp } from './setup.js';
import { buildStandalone } from './standalone.js';

await script(async () => {
  await setUp({ server: false });
  if (process.argv.includes('--standalone')) await buildStandalone();
  return 0;
});
