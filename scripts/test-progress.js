// @ts-check
// A reporter of vitest that tells each failure with its reason when it happens, and where there is
// no terminal how far the tests are: a log that is silent for long is taken for a dead job. On a
// terminal vitest shows that itself.

import { stripVTControlCharacters } from 'node:util';
import { say } from './program.js';

const everyMs = 15_000;
/** Of an error, so many lines; vitest shows all of it at the end. */
const lineCount = 4;

export default class TestProgress {
  #fileCount = 0;
  #endedCount = 0;
  #failedCount = 0;
  #beganAt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {readonly unknown[]} files */
  onTestRunStart(files) {
    this.#fileCount = files.length;
    this.#beganAt = performance.now();
    if (process.stdout.isTTY) return;
    this.#timer = setInterval(() => this.#tell(), everyMs);
    this.#timer.unref();
    say(`${files.length} test files`);
  }

  /** @param {import('vitest/node').TestCase} test */
  onTestCaseResult(test) {
    const { state, errors } = test.result();
    if (state === 'failed')
      tellFailure(`${test.module.relativeModuleId}: ${test.fullName}`, errors);
  }

  /** @param {import('vitest/node').TestModule} file */
  onTestModuleEnd(file) {
    this.#endedCount += 1;
    if (!file.ok()) this.#failedCount += 1;
    // Of its hooks, or of what stands outside of all tests.
    const errors = [file, ...file.children.allSuites()].flatMap((one) => one.errors());
    if (errors.length > 0) tellFailure(file.relativeModuleId, errors);
  }

  onTestRunEnd() {
    clearInterval(this.#timer);
  }

  #tell() {
    const seconds = Math.round((performance.now() - this.#beganAt) / 1_000);
    const failed = this.#failedCount === 0 ? '' : `, ${this.#failedCount} of them red`;
    say(`${this.#endedCount} of ${this.#fileCount} test files in ${seconds}s${failed}`);
  }
}

/**
 * @param {string} where
 * @param {readonly { message: string }[]} errors
 */
function tellFailure(where, errors) {
  const lines = errors.flatMap(({ message }) => {
    return stripVTControlCharacters(message).split('\n').slice(0, lineCount);
  });
  say([`FAILED ${where}`, ...lines].join('\n  '));
}
