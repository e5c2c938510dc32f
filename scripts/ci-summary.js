// @ts-check
// `node scripts/ci-summary.js FOLDER`: the end of `.ci/run`. FOLDER has a file `steps`, with the
// exit code, the seconds and the name of each step in a line, and a report of vitest for each step
// of tests, NAME.json. Prints the steps, each failed test with what it said, and the sum of all
// tests. Exits 1 if anything failed. A step that failed without a failed test counts as one.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? '.';
const lines = readFileSync(join(folder, 'steps'), 'utf8').trim().split('\n');
const sum = { passed: 0, failed: 0, skipped: 0 };

console.log('\n=== the steps');
for (const line of lines) {
  const [, status = '1', seconds = '', name = ''] = /^(\d+) (\d+) (.*)$/.exec(line) ?? [];
  console.log(`exit ${status.padStart(3)} after ${seconds.padStart(4)} s: ${name}`);
  const report = join(folder, `${name}.json`);
  const failures = existsSync(report) ? count(JSON.parse(readFileSync(report, 'utf8'))) : [];
  for (const failure of failures) console.log(`  FAILED ${failure}`);
  sum.failed += Math.max(failures.length, status === '0' ? 0 : 1);
}
console.log(`\n${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`);
process.exitCode = sum.failed === 0 ? 0 : 1;

/**
 * Adds the tests of a report to the sum. Returns what failed: tests, or files outside of all tests.
 * @typedef {{ status: string, fullName: string, failureMessages: string[] }} Test
 * @typedef {{ name: string, status: string, message: string, assertionResults: Test[] }} File
 * @param {{ numPassedTests: number, numPendingTests: number, testResults: File[] }} report
 * @returns {string[]}
 */
function count({ numPassedTests, numPendingTests, testResults }) {
  sum.passed += numPassedTests;
  sum.skipped += numPendingTests;
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && failed.length === 0) return [`${name}: ${message.slice(0, 300)}`];
    return failed.map(({ fullName, failureMessages }) => {
      const said = failureMessages.flatMap((text) => text.split('\n').slice(0, 3));
      return [`${name}: ${fullName}`, ...said].join('\n    ');
    });
  });
}
