// @ts-check
// `npm run build:standalone`: see standalone.js.

import { script } from './program.js';
import { buildStandalone } from './standalone.js';

await script(async () => {
  await buildStandalone();
  return 0;
});
