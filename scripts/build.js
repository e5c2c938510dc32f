// @ts-check
// `npm run build`: makes dist/ from src/ when it is out of date.

import { script } from './program.js';
import { setUp } from './setup.js';

await script(async () => {
  await setUp({ server: false });
  return 0;
});
