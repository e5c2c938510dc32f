// @ts-check
// `npm run check`: the types of src/ and test/, then lint and format of everything, also when the
// types are wrong. It changes nothing; `npx biome check --write` fixes what can be fixed.

import { join } from 'node:path';
import { ensureInstalled } from './installed.js';
import { root, script, show } from './program.js';

await script(async () => {
  await ensureInstalled();
  const modules = join(root, 'node_modules');
  const types = await show(process.execPath, [
    join(modules, 'typescript', 'bin', 'tsc'),
    '-p',
    join(root, 'test'),
  ]);
  const style = await show(process.execPath, [
    join(modules, '@biomejs', 'biome', 'bin', 'biome'),
    'check',
    root,
  ]);
  return types || style;
});
