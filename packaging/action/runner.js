// @ts-check
// What the runner of GitHub Actions and an action say to each other: variables, files and lines.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { constants } from 'node:os';

/**
 * An input of action.yml; empty when it is not given.
 * @param {string} name
 */
export const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();

/**
 * Appends to a file of the runner, such as GITHUB_OUTPUT; the value may have several lines.
 * @param {'GITHUB_OUTPUT' | 'GITHUB_STATE'} file
 * @param {string} name
 * @param {string} value
 */
export function set(file, name, value) {
  const end = randomUUID();
  appendFileSync(required(file), `${name}<<${end}\n${value}\n${end}\n`);
}

/**
 * A variable that every runner sets.
 * @param {string} name
 */
export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name}: not set: this is no runner of GitHub Actions`);
  return value;
}

/** Shows an error in the log and on the page of the run. @param {string} text */
export function fail(text) {
  const escaped = text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  process.stdout.write(`::error title=redlock-run::${escaped}\n`);
  process.exitCode = 1;
}

/**
 * The same as `run`, while the runner takes no line of the log for a command. The lines about a
 * wait quote other clients: none of them may stop the commands by which the action masks its token.
 * @type {typeof run}
 */
export async function runWithoutCommands(program, words, options) {
  const resume = randomUUID();
  process.stdout.write(`::stop-commands::${resume}\n`);
  try {
    return await run(program, words, options);
  } finally {
    process.stdout.write(`::${resume}::\n`);
  }
}

/**
 * Runs a program and returns its exit code (128 + N where it died of signal N) and stdout; its
 * stderr goes to the log. A signal to this process, by which the runner cancels a job, reaches it.
 * @param {string} program
 * @param {readonly string[]} words
 * @param {{ env?: Record<string, string | undefined>, showsOutput?: boolean }} [options]
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run(program, words, { env = process.env, showsOutput = false } = {}) {
  return new Promise((resolve, reject) => {
    const stdout = showsOutput ? 'inherit' : 'pipe';
    const child = spawn(program, words, { env, stdio: ['ignore', stdout, 'inherit'] });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    const relay = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, relay);
    child.once('error', reject);
    child.once('close', (code, died) => {
      for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.off(signal, relay);
      resolve({ code: code ?? 128 + (died === null ? 0 : constants.signals[died]), output });
    });
  });
}
