// @ts-check
// `node scripts/mistakes.js [--seed N] [--count N]`: 200 mistakes of one line each, drawn by a seed
// over every folder of src/, and for each the first tests that it turns red. It asks what the tests
// are worth before some of them go, and afterwards.
//
// Each mistake is made in a copy of the checkout. First the tests are asked that import its file,
// which takes seconds, and only what these miss is asked of all that `npm test` runs. What is known
// already for the same mistakes and tests is not played again, so it may be stopped and started.
// Prints a row for each mistake; exits 1 if one turned nothing red. A full table takes hours.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
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
/** The suites that import src/, or most of it. */
const suitesOfSource = ['unit', 'redis', 'ctl'].flatMap((name) => ['--project', name]);
/** A mistake may make a program wait for ever. */
const mostSeconds = 30 * 60;

await script(async () => {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '200' },
    },
  });
  await setUp({ server: true });
  makeCopy();
  const mistakes = drawMistakes(root, Number(values.seed), Number(values.count));
  const file = join(folder, `${digestOf(mistakes).slice(0, 12)}.jsonl`);
  const known = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  /** @type {{ mistake: Mistake, red: string[] }[]} */
  const results = known.map((line) => JSON.parse(line));
  say(`${results.length} of ${mistakes.length} mistakes are known: ${file}`);

  if (results.length === 0) refuseWhatIsRed();
  let missedCount = 0;
  for (const [index, mistake] of mistakes.entries()) {
    const red = results[index]?.red ?? keep(file, mistake);
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
 * Of the mistakes and of the tests: other tests have to be asked anew.
 * @param {readonly Mistake[]} mistakes
 */
function digestOf(mistakes) {
  const hash = createHash('sha256').update(JSON.stringify(mistakes));
  const names = readdirSync(join(copy, 'test'), { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(copy, 'test', name)).isFile());
  for (const name of files.sort()) hash.update(name).update(readFileSync(join(copy, 'test', name)));
  return hash.digest('hex');
}

/** A test that is red without any mistake would be red with each. */
function refuseWhatIsRed() {
  const [red] = compiles() ? testsThatFail(['run']) : ['the compiler'];
  if (red !== undefined) throw new Failure(1, `red without a mistake: ${red}`);
}

function compiles() {
  return spawnSync(process.execPath, ['scripts/build.js'], { cwd: copy }).status === 0;
}

/**
 * The first tests that the mistake turns red.
 * @param {Mistake} mistake
 * @returns {string[]}
 */
function play({ file, line, from, to }) {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n');
  if (lines[line - 1] !== from) throw new Failure(70, `${file}:${line}: is not: ${from}`);
  writeFileSync(path, [...lines.slice(0, line - 1), to, ...lines.slice(line)].join('\n'));
  try {
    if (!compiles()) return ['the compiler'];
    const near = testsThatFail(['related', '--run', file, ...suitesOfSource]);
    return near.length > 0 ? near : testsThatFail(['run']);
  } finally {
    writeFileSync(path, text);
  }
}

/**
 * @param {readonly string[]} words of vitest
 * @returns {string[]}
 */
function testsThatFail(words) {
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const vitest = [join('node_modules', 'vitest', 'vitest.mjs'), ...words, '--bail=1'];
  const reported = ['--reporter=json', `--outputFile.json=${report}`];
  const limited = ['--kill-after=10', `${mostSeconds}`, process.execPath, ...vitest, ...reported];
  const { stdout } = spawnSync('timeout', limited, { cwd: copy, encoding: 'utf8' });
  if (!existsSync(report)) return /No test files found/.test(stdout) ? [] : ['no result'];
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
  const change = differences(from, to).map((text) => `\`${text.replaceAll('|', '\\|')}\``);
  const told = red.length === 0 ? '**nothing**' : red[0];
  return `| ${file}:${line} | ${change.join(' for ')} | ${told?.replaceAll('|', '\\|')} |\n`;
}

/**
 * The words of the second line that differ, and those of the first, each with a word around.
 * @param {string} from
 * @param {string} to
 */
function differences(from, to) {
  const wordsOf = (/** @type {string} */ line) => line.trim().split(' ');
  const [before, after] = [wordsOf(from), wordsOf(to)];
  const sameOf = (/** @type {string[]} */ one, /** @type {string[]} */ other) => {
    const differing = one.findIndex((word, at) => word !== other[at]);
    return differing < 0 ? one.length : differing;
  };
  const start = sameOf(before, after);
  const end = sameOf(before.slice(start).reverse(), after.slice(start).reverse());
  const part = (/** @type {string[]} */ words) =>
    words.slice(Math.max(0, start - 1), words.length - Math.max(0, end - 1)).join(' ');
  return [after, before].map(part);
}

/**
 * Plays a mistake, and writes down what was found.
 * @param {string} file
 * @param {Mistake} mistake
 */
function keep(file, mistake) {
  const red = play(mistake);
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify({ mistake, red })}\n`);
  return red;
}
