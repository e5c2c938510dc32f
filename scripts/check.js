// @ts-check
// `npm run check`: types, lint, format, warnings of the C compiler, and the width of the lines that
// no formatter breaks, each also when another is wrong. It changes nothing; `npm run format` fixes
// what can be fixed.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { guardFlags, guardSource } from './guard.js';
import { ensureInstalled } from './installed.js';
import { biome, isOnPath, root, script, show, tsc } from './program.js';

const maxColumns = 100;
/** Tables, links and pictures of a page cannot be broken; a transcript shows what was printed. */
const unbreakableInPage = /^\s*\||https?:\/\/|^\s*!?\[.*\]\(|^\s*<|^\$ |^redlock|"pid"/;
/** Nor can the rows of a truth table in a test, links, and expressions of a workflow. */
const unbreakable = /^ +\S.* \| .* \| .* \| |https?:\/\/|: \$\{\{ /;

await script(async () => {
  await ensureInstalled();
  const types = await show(process.execPath, [tsc, '-p', join(root, 'test')]);
  const style = await show(process.execPath, [biome, 'check', root]);
  const compiler = process.env.CC || 'cc';
  const strict = ['-Wall', '-Wextra', '-Werror', '-fsyntax-only'];
  const warnings = isOnPath(compiler)
    ? await show(compiler, [...guardFlags, ...strict, guardSource])
    : 0; // tcc, which builds the guard then, has few of them.
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const wide = files.split('\n').flatMap(wideLines);
  for (const line of wide) process.stderr.write(`${line}: over ${maxColumns} columns\n`);
  return types || style || warnings || (wide.length > 0 ? 1 : 0);
});

/** @param {string} file @returns {string[]} */
function wideLines(file) {
  const isText = /(\.(ts|js|lua|md|sh|ya?ml|py|rb|go|rs|java)|\.ci\/run|rc\.example)$/;
  if (!isText.test(file) || /^docs\/results\//.test(file) || !existsSync(join(root, file)))
    return [];
  const isPage = file.endsWith('.md');
  let isFenced = false;
  return readFileSync(join(root, file), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      if (isPage && line.startsWith('```')) isFenced = !isFenced;
      const mayBeWide = isPage ? isFenced || unbreakableInPage.test(line) : unbreakable.test(line);
      return [...line].length > maxColumns && !mayBeWide ? [`${file}:${index + 1}`] : [];
    });
}
