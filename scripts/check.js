// @ts-check
// `npm run check`: types, lint, format, warnings of the C compiler, and the English of what is
// read, each also when another is wrong. It changes nothing; `npm run format` fixes what can be
// fixed.

import { join } from 'node:path';
import { guardFlags, guardSource } from './guard.js';
import { ensureInstalled } from './installed.js';
import { languageFaults } from './language.js';
import { isOnPath, root, script, show } from './program.js';

const strict = ['-Wall', '-Wextra', '-Werror'];

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
  const compiler = process.env.CC || 'cc';
  const warnings = isOnPath(compiler)
    ? await show(compiler, [...guardFlags, ...strict, '-fsyntax-only', guardSource])
    : 0; // tcc, which builds the guard then, has few of them.
  const faults = languageFaults();
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  return types || style || warnings || (faults.length > 0 ? 1 : 0);
});
