// @ts-check
// A reporter of vitest that says where there is no terminal how far the tests are: a log that is
// silent for long is taken for a dead job. On a terminal vitest shows that itself.

import { say } from './program.js';

const everyMs = 15_000;

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
    this.#timer = setInterval(() => this.#tell(), everyMs);
    this.#timer.unref();
    say(`${files.length} test files`);
  }

  /** @param {import('vitest/node').TestModule} file */
  onTestModuleEnd(file) {
    this.#endedCount += 1;
    if (!file.ok()) this.#failedCount += 1;
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
