// @ts-check
// `node scripts/mistakes.js [--seed N] [--count N] [-- ARGS]`: 200 mistakes of one line each, drawn
// by a seed over every folder of src/, and the tests that each of them turns red. It asks what the
// tests are worth before some of them go, and afterwards. ARGS are those of vitest, such as
// `--project unit`; without any, all that `npm test` runs.
//
// Each mistake is made in a copy of the checkout. What is known already, for the same mistakes and
// the same ARGS, is not played again, so it may be stopped and started. Prints a row for each
// mistake; exits 1 if one turned nothing red. A full table takes hours.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawMistakes } from './mistake-kinds.js';
import { Failure, root, say, script } from './program.js';
import { setUp } from './setup.js';

/**
 * `File`: of a report of vitest.
 * @typedef {import('./mistake-kinds.js').Mistake} Mistake
 * @typedef {{ status: string, fullName: string }} Test
 * @typedef {{ name: string, status: string, assertionResults: Test[] }} File
 */

const folder = join(root, '.cache', 'mistakes');
const copy = join(folder, 'checkout');
/** A mistake may make a program wait for ever. */
const mostSeconds = 30 * 60;

await script(async () => {
  const end = process.argv.indexOf('--');
  const own = process.argv.slice(2, end < 0 ? undefined : end);
  const args = end < 0 ? [] : process.argv.slice(end + 1);
  const { values } = parseArgs({
    args: own,
    options: {
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '200' },
    },
  });
  await setUp({ server: true });
  makeCopy();
  const mistakes = drawMistakes(root, Number(values.seed), Number(values.count));
  const digest = createHash('sha256')
    .update(JSON.stringify([mistakes, args]))
    .digest('hex');
  const file = join(folder, `${digest.slice(0, 12)}.jsonl`);
  const known = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const results = known.map((line) => JSON.parse(line));
  say(`${results.length} of ${mistakes.length} mistakes are known: ${file}`);

  const alwaysRed = new Set(results[0]?.red ?? testsThatFail(args));
  if (results.length === 0) keep(file, { mistake: null, red: [...alwaysRed] });
  let missedCount = 0;
  for (const [index, mistake] of mistakes.entries()) {
    const red =
      results[index + 1]?.red ?? play(mistake, args).filter((test) => !alwaysRed.has(test));
    if (results[index + 1] === undefined) keep(file, { mistake, red });
    if (red.length === 0) missedCount += 1;
    process.stdout.write(row(mistake, red));
  }
  say(`${mistakes.length - missedCount} of ${mistakes.length} mistakes turned a test red`);
  return missedCount === 0 ? 0 : 1;
});

/** A copy of all files that git knows or may know, with the same packages. */
function makeCopy() {
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  const pack = 'git ls-files -z --cached --others --exclude-standard | tar -c --null -T - ';
  const lines = `${pack} | tar -x -C "$0" && cp -al node_modules "$0/node_modules"`;
  const { status } = spawnSync('sh', ['-c', lines, copy], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Failure(74, `${copy}: the checkout cannot be copied`);
}

/**
 * The tests that the mistake turns red.
 * @param {Mistake} mistake
 * @param {readonly string[]} args
 * @returns {string[]}
 */
function play({ file, line, from, to }, args) {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n');
  if (lines[line - 1] !== from) throw new Failure(70, `${file}:${line}: is not: ${from}`);
  writeFileSync(path, [...lines.slice(0, line - 1), to, ...lines.slice(line)].join('\n'));
  try {
    return testsThatFail(args);
  } finally {
    writeFileSync(path, text);
  }
}

/**
 * @param {readonly string[]} args
 * @returns {string[]}
 */
function testsThatFail(args) {
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const tests = ['scripts/test.js', ...args, '--reporter=json', `--outputFile.json=${report}`];
  const words = ['--kill-after=10', `${mostSeconds}`, process.execPath, ...tests];
  const { stderr } = spawnSync('timeout', words, { cwd: copy, encoding: 'utf8' });
  if (!existsSync(report)) return [/does not compile/.test(stderr) ? 'the compiler' : 'no result'];
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  return testResults.flatMap((/** @type {File} */ { name, status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    const where = name.slice(join(copy, 'test/').length).replace('.test.ts', '');
    if (failed.length === 0) return status === 'failed' ? [where] : [];
    return failed.map(({ fullName }) => `${where}: ${fullName}`);
  });
}

/**
 * @param {Mistake} mistake
 * @param {readonly string[]} red
 */
function row({ file, line, from, to }, red) {
  const files = [...new Set(red.map((test) => test.split(': ')[0]))];
  const [before, after] = [from, to].map((text) => text.trim().replaceAll('|', '\\|'));
  const told = red.length === 0 ? '**nothing**' : `${red.length}: ${files.join(', ')}`;
  return `| ${file}:${line} | \`${before}\` | \`${after}\` | ${told} |\n`;
}

/**
 * @param {string} file
 * @param {object} result
 */
function keep(file, result) {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(result)}\n`);
}
