// @ts-check
// `npm run build`: dist/ from src/, when it is not up to date.

import { script } from './program.js';
import { setUp } from './setup.js';

await script(async () => {
  await setUp({ server: false });
  return 0;
});
