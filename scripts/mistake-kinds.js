// @ts-check
// One-line mistakes in src/: which ones are possible, and so many of them drawn by a seed, the same
// number from every folder.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * A line of a file, as it is and as the mistake makes it. `line` counts from 1.
 * @typedef {{ file: string, line: number, from: string, to: string }} Mistake
 */

/**
 * What stands between blanks, and what a careless hand would write there.
 * @type {Record<string, string>}
 */
const operators = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '==': '~=',
  '~=': '==',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  and: 'or',
  or: 'and',
};

/** No code: comments, imports, and what exists for the compiler only. */
const skipped =
  /^\s*(\/\/|\/?\*|--|import\b|export (type|interface|\{)|type\b|interface\b|\}? from)/;

/**
 * All mistakes that this line can have.
 * @param {string} text
 * @returns {string[]}
 */
export function mistakesIn(text) {
  if (skipped.test(text)) return [];
  const [code = ''] = text.split(/\s\/\/ |\s-- /);
  const rest = text.slice(code.length);
  const found = [...inPlaceOf(code, /(?<= )(\S+)(?= )/g, (word) => operators[word])];
  found.push(...inPlaceOf(code, /\b(true|false)\b/g, (word) => String(word !== 'true')));
  found.push(...inPlaceOf(code, /(?<![\w.'])(\d[\d_]*)(?![\w.'])/g, (word) => `${next(word)}`));
  found.push(...inPlaceOf(code, /\b(await )/g, () => ''));
  found.push(...inPlaceOf(code, /\bif \((.*)\)(?= |$)/g, (word) => `!(${word})`));
  found.push(...inPlaceOf(code, /^\s*if (.*) then/g, (word) => `not (${word})`));
  // A call whose result is not used is forgotten.
  if (/^\s+(await |void )?[\w.#?!]+\(.*\);$/.test(code) && !/^\s+return\b/.test(code))
    found.push(';');
  return found.map((changed) => changed + rest);
}

/** @param {string} number */
function next(number) {
  return Number(number.replaceAll('_', '')) + 1;
}

/**
 * The texts in which one match of a pattern has been replaced.
 * @param {string} code
 * @param {RegExp} pattern with one group, which is what is replaced
 * @param {(word: string) => string | undefined} replaced
 */
function* inPlaceOf(code, pattern, replaced) {
  for (const { index, 0: all, 1: word = '' } of code.matchAll(pattern)) {
    const at = index + all.indexOf(word);
    const to = isText(code, at) ? undefined : replaced(word);
    if (to !== undefined) yield code.slice(0, at) + to + code.slice(at + word.length);
  }
}

/**
 * Whether this place is inside of a text, which other tests compare word by word.
 * @param {string} code
 * @param {number} at
 */
function isText(code, at) {
  const before = code.slice(0, at);
  const isInside = before.split('`').length % 2 === 0;
  const isValue = before.lastIndexOf('${') > before.lastIndexOf('}');
  return /^[^']*'(?:[^']*'[^']*')*[^']*$/.test(before) || (isInside && !isValue);
}

/**
 * So many mistakes, drawn folder by folder in turn, never two in one line. The same for the same
 * seed and the same src/.
 * @param {string} root the checkout
 * @param {number} seed
 * @param {number} count
 * @returns {Mistake[]}
 */
export function drawMistakes(root, seed, count) {
  const random = numbers(seed);
  const folders = grouped(allMistakes(root));
  /** @type {Mistake[]} */
  const drawn = [];
  while (drawn.length < count && folders.size > 0) {
    for (const [folder, mistakes] of folders) {
      const mistake = mistakes[Math.floor(random() * mistakes.length)];
      if (mistake === undefined || drawn.length === count) break;
      drawn.push(mistake);
      const others = mistakes.filter(
        ({ file, line }) => file !== mistake.file || line !== mistake.line,
      );
      if (others.length === 0) folders.delete(folder);
      else folders.set(folder, others);
    }
  }
  return drawn;
}

/** @param {readonly Mistake[]} mistakes */
function grouped(mistakes) {
  /** @type {Map<string, Mistake[]>} */
  const folders = new Map();
  for (const mistake of mistakes) {
    const folder = dirname(mistake.file);
    folders.set(folder, [...(folders.get(folder) ?? []), mistake]);
  }
  return folders;
}

/** @param {string} root */
function allMistakes(root) {
  const names = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => /\.(ts|lua)$/.test(name) && !name.endsWith('.d.ts'));
  return files.sort().flatMap((name) => {
    const lines = readFileSync(join(root, 'src', name), 'utf8').split('\n');
    return lines.flatMap((from, index) =>
      mistakesIn(from).map((to) => ({ file: join('src', name), line: index + 1, from, to })),
    );
  });
}

/**
 * xorshift: numbers from 0 to 1, always the same for one seed.
 * @param {number} seed
 */
function numbers(seed) {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
