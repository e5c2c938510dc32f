// @ts-check
// `npm run pictures`: records the moving picture of the README, `top` and the timeline anew, from
// real runs on real masters (test/pictures), and writes them to docs/. It needs tmux and
// namespaces.

import { script, show, vitest } from './program.js';
import { setUp } from './setup.js';

await script(async () => {
  await setUp({ server: true });
  process.env.RECORD_PICTURES = '1';
  return show(process.execPath, [vitest, 'run', '--project', 'slow', 'test/pictures']);
});
