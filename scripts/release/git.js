// @ts-check
// What a release pushes by git: the commit of the action, and the formula. The credentials are
// given to the one command that needs them, and are written to no file.

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure, root, run } from '../program.js';

/**
 * @typedef {object} Remote
 * @property {string} url
 * @property {string} token empty: the URL needs none
 */

/** The author of what a release commits. */
const author = { name: 'redlock-run release', email: 'release@users.noreply.github.com' };

/**
 * Runs git and returns its output.
 * @param {readonly string[]} words
 * @param {{ cwd?: string, token?: string, env?: Record<string, string> }} [options]
 */
export async function git(words, { cwd = root, token = '', env = {} } = {}) {
  const { name, email } = author;
  const all = {
    ...process.env,
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_TERMINAL_PROMPT: '0',
    ...(token === '' ? {} : credentials(token)),
    ...env,
  };
  const { code, output } = await run('git', words, {
    notice: `git ${words[0]} ...`,
    env: all,
    cwd,
  });
  if (code !== 0) throw new Failure(69, `publish: git ${words[0]}: ${output.trim()}`);
  return output.trim();
}

/** @param {string} token */
function credentials(token) {
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'http.extraHeader',
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  };
}

/**
 * What the tags of a remote name, by tag.
 * @param {Remote} remote
 * @returns {Promise<Map<string, string>>}
 */
export async function remoteTags({ url, token }) {
  const lines = (await git(['ls-remote', '--tags', url], { token })).split('\n').filter(Boolean);
  return new Map(
    lines.map((line) => {
      const [commit = '', ref = ''] = line.split('\t');
      return [ref.replace('refs/tags/', ''), commit];
    }),
  );
}

/**
 * The commit that the action is used from: that of the release, with the checksums of its files.
 * The same commit each time, so that a second try changes nothing.
 * @param {string} tag
 * @param {string} sums the file
 */
export async function actionCommit(tag, sums) {
  const work = mkdtempSync(join(tmpdir(), 'redlock-run-action-'));
  try {
    const env = { GIT_INDEX_FILE: join(work, 'index') };
    const blob = await git(['hash-object', '-w', '--no-filters', sums]);
    await git(['read-tree', tag], { env });
    const entry = `100644,${blob},packaging/action/SHA256SUMS`;
    await git(['update-index', '--add', '--cacheinfo', entry], { env });
    const tree = await git(['write-tree'], { env });
    const time = `${await git(['log', '-1', '--format=%ct', tag])} +0000`;
    const dates = { GIT_AUTHOR_DATE: time, GIT_COMMITTER_DATE: time };
    const message = `Add the checksums of ${tag} to the action`;
    const parent = await git(['rev-parse', `${tag}^{commit}`]);
    return await git(['commit-tree', tree, '-p', parent, '-m', message], { env: dates });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Commits a file to Formula/ of a tap.
 * @param {Remote} tap
 * @param {string} file
 * @param {string} version
 * @param {{ isDryRun: boolean }} options
 * @returns {Promise<boolean>} whether it was another file there
 */
export async function pushFormula({ url, token }, file, version, { isDryRun }) {
  const work = mkdtempSync(join(tmpdir(), 'redlock-run-tap-'));
  try {
    await git(['clone', '--quiet', '--depth=1', url, work], { token });
    mkdirSync(join(work, 'Formula'), { recursive: true });
    copyFileSync(file, join(work, 'Formula', 'redlock-run.rb'));
    await git(['add', 'Formula'], { cwd: work });
    if ((await git(['status', '--porcelain'], { cwd: work })) === '') return false;
    if (isDryRun) return true;
    await git(['commit', '--quiet', '-m', `redlock-run ${version}`], { cwd: work });
    await git(['push', '--quiet', 'origin', 'HEAD'], { cwd: work, token });
    return true;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
