// @ts-check
// The main step of the action: installs the executable, then runs one command under the lock, or
// acquires the lock for the rest of the job.

import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, input, required, run, runWithoutCommands, set } from './runner.js';

const folder = join(required('RUNNER_TEMP'), 'redlock-run');
const name = input('name');

const objection = objectionToInputs();
if (objection !== null) fail(objection);
else if (await isInstalled()) await (input('run') === '' ? hold() : command());

/** Found out before anything is downloaded; null: none. */
function objectionToInputs() {
  if (name === '') return 'name: missing: which lock?';
  // The programs would take it for an option, and `--version` ends with 0 without any lock.
  if (name.startsWith('-')) return `name: ${name}: begins with "-" (choose another name)`;
  if (input('options') === '') return null;
  if (input('run') === '') return 'options: without run: only redlock-run has them';
  for (const line of lines(input('options'))) {
    if (!/^--?[A-Za-z]/.test(line))
      return `options: ${line}: no option (one on each line, such as --max-run 30m)`;
    // -h and -V count in a cluster of switches too: -nV.
    if (/^(-[A-Za-z]*[hV]|--(help|version|dry-run)\b)/.test(line))
      return `options: ${line}: the script would not run (leave it out)`;
  }
  return null;
}

/** Runs the install script of the release, whose checksum comes with the action. */
async function isInstalled() {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8'));
  const url = input('url') || addressOf(version);
  if (url === null) {
    fail('url: missing: this copy of the action knows no release (name where its files are)');
    return false;
  }
  const sum = checksumOf('install.sh');
  if (sum === null) {
    fail(
      'no checksums in this copy of the action: it would run what it cannot verify ' +
        `(use the tag action-v${version} of its repository, or the commit of that tag)`,
    );
    return false;
  }
  const script = join(required('RUNNER_TEMP'), 'redlock-run-install.sh');
  const words = ['-fsSL', `${url}/install.sh`, '-o', script];
  if ((await run('curl', words, { showsOutput: true })).code !== 0) {
    fail(`${url}/install.sh: not downloaded`);
    return false;
  }
  const got = createHash('sha256').update(readFileSync(script)).digest('hex');
  if (got !== sum) {
    fail(`${url}/install.sh: checksum ${got}, and not ${sum} (not installed)`);
    return false;
  }
  const env = { ...process.env, PREFIX: folder, REDLOCK_RUN_URL: url };
  const { code } = await run('/bin/sh', [script], { env, showsOutput: true });
  if (code !== 0) fail(`not installed from ${url}`);
  else appendFileSync(required('GITHUB_PATH'), `${join(folder, 'bin')}\n`);
  return code === 0;
}

/**
 * Where the release of this action is; null: it was not fetched from a repository.
 * @param {string} version
 */
function addressOf(version) {
  const server = process.env.GITHUB_SERVER_URL ?? 'https://github.com';
  const repository = process.env.GITHUB_ACTION_REPOSITORY;
  return repository ? `${server}/${repository}/releases/download/v${version}` : null;
}

/**
 * The checksum of a file of the release. The release adds the list to the commit that the tags of
 * the action name (scripts/release/publish.js); null: this is another commit.
 * @param {string} wanted
 */
function checksumOf(wanted) {
  let text;
  try {
    text = readFileSync(new URL('SHA256SUMS', import.meta.url), 'utf8');
  } catch {
    return null;
  }
  const found = lines(text).find((line) => line.endsWith(`  ${wanted}`));
  return found?.split(' ')[0] ?? null;
}

/** @param {string} text */
function lines(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

/** The options that both programs have. */
function shared() {
  return ['wait', 'ttl'].flatMap((one) => (input(one) === '' ? [] : [`--${one}=${input(one)}`]));
}

/**
 * An option on a line of its own, with its value joined to it: of a switch, a value is then an
 * error and no further NAME.
 * @param {string} line such as `--notify echo "$REDLOCK_EVENT"`; the value is the rest of the line
 */
function joined(line) {
  const [, option = '', value = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? [];
  if (value === '') return option;
  return option.startsWith('--') ? `${option}=${value}` : `${option}${value}`;
}

async function command() {
  const options = [...shared(), ...lines(input('options')).map(joined)];
  const words = [...options, name, '--', '/bin/sh', '-ec', input('run')];
  const program = join(folder, 'bin', 'redlock-run');
  const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
  const { code } = await run(program, words, { env, showsOutput: true });
  if (code === 0) return;
  fail(`"${name}": exit code ${code}`);
  process.exitCode = code;
}

/**
 * The lock is extended by a process of its own, until the post step, or the end of the process that
 * runs all steps of this job, which is our parent. In a job with `container:` the parent is outside
 * (0): there it is the first process of the container, which lives as long as the job.
 */
async function hold() {
  const parent = String(process.ppid || 1);
  const words = ['hold', name, '--literal', '--background', '--while-pid', parent, ...shared()];
  const { code, output } = await runWithoutCommands(join(folder, 'bin', 'redlockctl'), words);
  const token = output.trim();
  // Before anything else: from now on no step can print it in the clear.
  if (token !== '') process.stdout.write(`::add-mask::${token}\n`);
  if (code !== 0 || token === '') {
    fail(`"${name}": not acquired: exit code ${code}`);
    process.exitCode = code || 1;
    return;
  }
  set('GITHUB_STATE', 'token', token);
  set('GITHUB_OUTPUT', 'token', token);
}
