// @ts-check
// Runs other programs to their end, for the scripts of a checkout. These run before anything is
// installed, so this file imports no package. Messages go to stderr, because the stdout of `npm
// start` belongs to the command.

import { spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the checkout. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const modules = join(root, 'node_modules');
/** Packages with a program that is run by this Node. */
export const tsc = join(modules, 'typescript', 'bin', 'tsc');
export const vitest = join(modules, 'vitest', 'vitest.mjs');
export const biome = join(modules, '@biomejs', 'biome', 'bin', 'biome');

const noticeAfterMs = 3_000;

/**
 * Runs a program and returns its output and its exit code (1 when it cannot be run or dies of a
 * signal). Prints `notice` when it takes more than three seconds.
 * @param {string} program
 * @param {readonly string[]} words
 * @param {{ notice: string, env?: Record<string, string | undefined>, cwd?: string }} options
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run(program, words, { notice, env = process.env, cwd = root }) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => say(notice), noticeAfterMs);
    const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.once('error', (error) => {
      output += `${error.message}\n`;
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code !== null && code >= 0 ? code : 1, output });
    });
  });
}

/**
 * Runs a program with this terminal and returns its exit code.
 * @param {string} program
 * @param {readonly string[]} words
 * @returns {Promise<number>}
 */
export function show(program, words) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd: root, stdio: 'inherit' });
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/**
 * npm; if npm runs this script, the same npm.
 * @returns {{ program: string, words: string[] }}
 */
export function npm() {
  const script = process.env.npm_execpath;
  return script?.endsWith('.js')
    ? { program: process.execPath, words: [script] }
    : { program: 'npm', words: [] };
}

/**
 * Installs a package of npm into an entry of the user's cache, without install scripts. Throws a
 * Failure (69). It is a project of its own: with `--prefix` npm would also read its global settings
 * there.
 * @param {string} folder
 * @param {string} spec such as `bun@1.4.5`
 * @param {readonly string[]} options
 */
export async function installIntoCache(folder, spec, options = []) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const { program, words } = npm();
  const common = ['--ignore-scripts', '--no-audit', '--no-fund'];
  const { code, output } = await run(program, [...words, 'install', ...common, ...options, spec], {
    notice: `downloading ${spec} ...`,
    env: { ...process.env, npm_config_local_prefix: undefined },
    cwd: folder,
  });
  if (code !== 0) throw new Failure(69, `${spec} could not be downloaded:\n${output}`);
}

/**
 * Whether a program can be called by its name.
 * @param {string} program
 */
export function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * The path of an entry in the user's cache, whose folder is created when it is missing.
 * @param {string} name
 */
export function cachePath(name) {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'redlock-run');
  mkdirSync(folder, { recursive: true });
  return join(folder, name);
}

/**
 * Prints one line to stderr.
 * @param {string} text
 */
export function say(text) {
  process.stderr.write(`redlock-run: ${text}\n`);
}

/** Ends a script, with a message for people and an exit code for the shell. */
export class Failure extends Error {
  /**
   * @param {number} exitCode
   * @param {string} message
   */
  constructor(exitCode, message) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Runs the body of a script. The exit code is what it returns, or that of the Failure it throws.
 * @param {() => Promise<number>} body
 */
export async function script(body) {
  try {
    process.exitCode = await body();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    say(error.message);
    process.exitCode = error.exitCode;
  }
}
