// @ts-check
// The main step of the action: installs the executable, then runs one command under the lock, or
// acquires the lock for the rest of the job.

import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, input, required, run, set } from './runner.js';

const folder = join(required('RUNNER_TEMP'), 'redlock-run');
const name = input('name');

if (name === '') fail('name: missing: which lock?');
else if (await isInstalled()) await (input('run') === '' ? hold() : command());

/** Runs the install script of the release, which knows the checksums. */
async function isInstalled() {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8'));
  const server = process.env.GITHUB_SERVER_URL ?? 'https://github.com';
  const repository = process.env.GITHUB_ACTION_REPOSITORY ?? '';
  const url = input('url') || `${server}/${repository}/releases/download/v${version}`;
  const env = { ...process.env, PREFIX: folder, REDLOCK_RUN_URL: url };
  const script = 'set -e; curl -fsSL "$REDLOCK_RUN_URL/install.sh" -o "$1"; sh "$1"';
  const words = ['-c', script, 'sh', join(required('RUNNER_TEMP'), 'redlock-run-install.sh')];
  const { code } = await run('/bin/sh', words, { env, showsOutput: true });
  if (code !== 0) fail(`not installed from ${url}`);
  else appendFileSync(required('GITHUB_PATH'), `${join(folder, 'bin')}\n`);
  return code === 0;
}

/** The options that both programs have. */
function shared() {
  return ['wait', 'ttl'].flatMap((one) => (input(one) === '' ? [] : [`--${one}`, input(one)]));
}

async function command() {
  const options = [...shared(), ...input('options').split(/\s+/).filter(Boolean)];
  const words = [...options, name, '--', '/bin/sh', '-ec', input('run')];
  const program = join(folder, 'bin', 'redlock-run');
  const { code } = await run(program, words, { showsOutput: true });
  if (code === 0) return;
  fail(`"${name}": exit code ${code}`);
  process.exitCode = code;
}

/**
 * The lock is extended by a process of its own, until the post step, or the end of the process that
 * runs all steps of this job, which is our parent.
 */
async function hold() {
  const words = ['hold', name, '--background', '--while-pid', String(process.ppid), ...shared()];
  const { code, output } = await run(join(folder, 'bin', 'redlockctl'), words);
  const token = output.trim();
  if (code !== 0 || token === '') {
    fail(`"${name}": not acquired: exit code ${code}`);
    process.exitCode = code || 1;
    return;
  }
  process.stdout.write(`::add-mask::${token}\n`);
  set('GITHUB_STATE', 'token', token);
  set('GITHUB_OUTPUT', 'token', token);
}
