// @ts-check
// Plain English, as far as a machine can see it: lines of at most 100 columns, no person for a
// program, no formula at the top of a file, no literal spread into a literal (only the formatter
// is told by that). Part of `npm run check`.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './program.js';

/** What is read: the source, the tests, and everything that stands in the package as text. */
const folders = ['src', 'scripts', 'docs', 'bin', 'test', 'packaging', '.github'];
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];
const others = [
  ...['.ci/run', '.redlockrc.example', 'action.yml', 'biome.json', 'compose.yaml'],
  'vitest.config.ts',
];

const mostColumns = 100;
/** Tables, links and pictures of a page cannot be broken; a transcript shows what was printed. */
const unbreakable = /^\s*\||https?:\/\/|^\s*!?\[.*\]\(|^\s*<|^\$ |^redlock|"pid"/;
/** The rows of a truth table in a test cannot be broken either. */
const tableRow = /^ +\S.* \| .* \| .* \| /;
const persons =
  /\b(he|she|his|him|hers|himself|who|whom|whoever|nobody|somebody|someone|anybody)\b/i;
const formula = /The surprise/;
const spreadLiteral = /\.\.\.\{/;

/** People and fixed words: the user `nobody`, "held by someone else", sentences about readers. */
const exceptions = [
  /['`]?nobody['`]|['`]nobody |user nobody|someone else|another person/,
  /\bnobody( = |[},)\]]|, |:| \\?\(uid)/,
  /\bwho( =|\)| \?|\]|,)|'random:who'|:who'/,
  /\?*\.who\b|\bwho[:,]|\bwho \}|\$\{who\}|{ .*\bwho\b.*}|\bWHO\b|'Who'|>Who</,
  /\bwho (holds|gets|has|is trusted|want)\b/i,
  /\b(people|person|persons|operator|operators|user|users|reader|readers|contributors?) who\b/i,
  /\b(anybody|nobody|somebody) (can|may|should|is asked|else) (read|write)/,
];

/** Returns one line for each fault: file, line, what. */
export function languageFaults() {
  return [...folders.flatMap((folder) => filesIn(join(root, folder))), ...pages, ...others]
    .map((file) => relative(root, join(root, relative(root, join(root, file)))))
    .flatMap(faultsIn);
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(c?ts|js|lua|md|sh|ya?ml|toml|py|rb|pl|go|rs|php|java|cpp)$/.test(file))
    .map((file) => relative(root, join(folder, file)));
}

/** @param {string} file */
function faultsIn(file) {
  const isPage = file.endsWith('.md');
  const isTest = file.startsWith('test/') && !isPage;
  const isGenerated = file.startsWith('docs/results/');
  /** @type {string[]} */
  const faults = [];
  let isFenced = false;
  readFileSync(join(root, file), 'utf8')
    .split('\n')
    .forEach((line, index) => {
      if (isPage && line.startsWith('```')) isFenced = !isFenced;
      const tell = (/** @type {string} */ what) => faults.push(`${file}:${index + 1}: ${what}`);
      const isWide = [...line].length > mostColumns && !isGenerated && !isFenced;
      const inCode = isTest ? tableRow : /https?:\/\/|: \$\{\{ /;
      const mayBeWide = isPage ? unbreakable : inCode;
      if (isWide && !mayBeWide.test(line)) tell('over 100 columns');
      if (formula.test(line) && file !== 'scripts/language.js') tell('a formula');
      if (spreadLiteral.test(line) && !isPage && file !== 'scripts/language.js')
        tell('a spread of a literal');
      const person = persons.exec(line)?.[0];
      const isExcepted = file === 'scripts/language.js' || exceptions.some((one) => one.test(line));
      if (person !== undefined && !isExcepted) tell(`a person: ${person}`);
    });
  return faults;
}
