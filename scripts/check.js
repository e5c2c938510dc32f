// @ts-check
// `npm run check`: types, lint, format, and the English of what is read, each also when another is
// wrong. It changes nothing; `npm run format` fixes what can be fixed.

import { join } from 'node:path';
import { ensureInstalled } from './installed.js';
import { languageFaults } from './language.js';
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
  const faults = languageFaults();
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  return types || style || (faults.length > 0 ? 1 : 0);
});
