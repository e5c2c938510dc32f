// Words of the code that a user need not know stand in no page for users, in no help and in no text
// of a program. Pages for developers, the glossary's notes on the code and what the changelog says
// of earlier checkouts may have them.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const filesIn = (folder: string, ending: RegExp) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file))
    .map((file) => path.join(folder, file));

const words = /\b(deaf|unfit|stragglers?|barging|verdicts?|write-back)\b/i;
const wordsIn = (texts: readonly string[]) => texts.filter((text) => words.test(text));

const pages = [
  ...['README.md', 'SECURITY.md', '.redlockrc.example', 'compose.yaml', 'action.yml'],
  ...filesIn('docs', /\.md$/).filter((file) => !file.startsWith('docs/results/')),
];

/** Without what is said of the code, and of earlier checkouts. */
const forUsers = (page: string) =>
  page
    .replace(/^\|.* in the code.*$/gm, '')
    .replace(/^### Against earlier checkouts[\s\S]*?(?=^#|$(?![\s\S]))/m, '');

/** The texts in quotes of a source file, without its comments. */
function textsIn(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
  const texts = code.match(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [];
  return texts.map((text) => text.slice(1, -1));
}

test.each([...pages, 'CHANGELOG.md'])('%s', (page) => {
  expect(wordsIn(forUsers(read(page)).split('\n'))).toEqual([]);
});

test.each(filesIn('src', /\.(ts|lua)$/))('the texts of %s', (file) => {
  expect(wordsIn(textsIn(read(file)))).toEqual([]);
});

it('sees such a word', () => {
  const source = "// a verdict\nconst a = 'a verdict'; /* unfit */ const b = `is\ndeaf`;";
  expect(wordsIn(textsIn(source))).toEqual(['a verdict', 'is\ndeaf']);
  expect(wordsIn(['The straggler.', 'A last one.'])).toEqual(['The straggler.']);
});
