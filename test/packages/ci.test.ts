// The GitHub action and the GitLab component, run as their runners do, with the runner's variables
// and files, from the files of a release in RELEASE_DIR. What cannot be run here is the runner.

import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { environmentFor, locksOn, untilNothingIsLeft, useMasters } from '../cli/rig.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { action, useRunner } from './action-runner.ts';

const root = join(import.meta.dirname, '../..');
const { masters } = useMasters(3);
const url = `file://${process.env.RELEASE_DIR}`;
const isLocked = async () => (await locksOn(masters[0] as (typeof masters)[number])).length > 0;

beforeAll(() => {
  if (!process.env.RELEASE_DIR) throw new Error('RELEASE_DIR: not set: see release.test.ts');
});

const { start, environment, written, temporary } = useRunner(masters, url);

describe('the action', () => {
  test('runs one command under the lock, with its output and its exit code', async () => {
    const run = 'echo ran $REDLOCK_NAME\nfalse\necho not here';
    const { code, said } = await start('main', environment({ name: 'ci', run })).ended;
    expect(said).toMatch(/^ran ci$/m);
    expect(said).not.toMatch(/not here$/m);
    expect(code).toBe(1);
    expect(written('GITHUB_STATE')).toEqual({});
    expect((await start('post', environment({ name: 'ci', run })).ended).code).toBe(0);
    await untilNothingIsLeft(masters);
  });

  test('an option on each line, with its value as it is', async () => {
    const options = "--verbose\n-w1h\n--note it's a test --verbose";
    const run = 'redlockctl status ci || test $? = 75';
    const inputs = { name: 'ci', options, run };
    const { code, said } = await start('main', environment(inputs)).ended;
    expect({ code, said }).toMatchObject({ code: 0 });
    expect(said).toContain('note "it\'s a test --verbose"');
    await untilNothingIsLeft(masters);
  });

  test.each([
    ['a name that is an option', { name: '--version', run: 'true' }, 'name: --version'],
    ['a name that is an option, held', { name: '--help' }, 'name: --help'],
    ['no option', { name: 'ci', run: 'true', options: 'other' }, 'options: other: no option'],
    ['nothing to run', { name: 'ci', run: 'true', options: '--help' }, 'options: --help'],
    ['switches that run nothing', { name: 'ci', run: 'true', options: '-nV' }, 'options: -nV'],
    ['more such switches', { name: 'ci', run: 'true', options: '-qh' }, 'options: -qh'],
    ['options of hold', { name: 'ci', options: '--max-run 1m' }, 'options: without run'],
  ])('refuses %s before anything is downloaded', async (_, inputs, message) => {
    const { code, said } = await start('main', environment(inputs)).ended;
    expect(code).toBe(1);
    expect(said).toBe(`::error title=redlock-run::${said.slice(27)}`);
    expect(said).toContain(`::${message}`);
  });

  test('a switch with a value is an error, and no further name', async () => {
    const inputs = { name: 'ci', run: 'true', options: '--verbose other' };
    expect((await start('main', environment(inputs)).ended).code).toBe(64);
  });

  test('runs no install script with another checksum, and none without a checksum', async () => {
    const release = mkdtempSync(join(scratchFolder(), 'release-'));
    writeFileSync(join(release, 'install.sh'), 'echo ran\n');
    const env = { ...environment({ name: 'ci', run: 'true' }), INPUT_URL: `file://${release}` };
    const other = await start('main', env).ended;
    expect(other).toMatchObject({ code: 1, said: expect.stringMatching(/checksum .*and not/) });
    const plain = spawnSync(process.execPath, [join(root, action.runs.main)], { env });
    expect(plain.status).toBe(1);
    expect(String(plain.stdout)).toContain('no checksums in this copy of the action');
  });

  test('a copy of no repository says that it knows no release', async () => {
    const env = { ...environment({ name: 'ci', run: 'true' }), INPUT_URL: '' };
    const { code, said } = await start('main', env).ended;
    expect({ code, said }).toMatchObject({
      code: 1,
      said: expect.stringContaining('url: missing'),
    });
  });

  test('held by someone else: the step fails with 75', async () => {
    await start('main', environment({ name: 'ci' })).ended;
    const { token = '' } = written('GITHUB_STATE');
    const { code } = await start('main', environment({ name: 'ci', wait: '0', run: 'true' })).ended;
    expect(code).toBe(75);
    await start('post', environment({ name: 'ci' }, { token })).ended;
    await untilNothingIsLeft(masters);
  });

  test('a cancelled command is stopped, and its lock released', async () => {
    const { child, ended } = start('main', environment({ name: 'ci', run: 'sleep 60' }));
    await eventually('a lock', isLocked);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    await untilNothingIsLeft(masters);
  });
});

describe('the action, holding the lock for a job', () => {
  test('holds the lock for the job, and the post step releases it', async () => {
    const { code, said } = await start('main', environment({ name: 'ci', wait: '5s' })).ended;
    expect({ code, said }).toMatchObject({ code: 0 });
    const { token = '' } = written('GITHUB_STATE');
    expect(written('GITHUB_OUTPUT')).toEqual({ token });
    // The program runs while the runner heeds no command, and the mask is the next line.
    const [, resume] = /^::stop-commands::(\S+)$/m.exec(said) ?? [];
    expect(said).toContain(`\n::${resume}::\n::add-mask::${token}\n`);
    expect(said.slice(0, said.indexOf('::add-mask::'))).not.toContain(token);
    expect(readFileSync(join(temporary(), 'GITHUB_PATH'), 'utf8')).toBe(
      `${join(temporary(), 'redlock-run/bin')}\n`,
    );
    expect(await isLocked()).toBe(true);
    const ctl = join(temporary(), 'redlock-run/bin/redlockctl');
    const env = environment({ name: 'ci' });
    await promisify(execFile)(ctl, ['check', 'ci', '--token', token], { env });
    const post = await start('post', environment({ name: 'ci' }, { token })).ended;
    expect(post).toMatchObject({ code: 0 });
    await untilNothingIsLeft(masters);
  });

  // As `docker exec` starts a step: its parent is outside of the container, and shown as 0.
  test.runIf(process.getuid?.() === 0)('holds the lock for a job in a container', async () => {
    const inside = ['--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
    const container = spawn('unshare', [...inside, 'sleep', '300']);
    try {
      const [first = ''] = await eventually('the first process', async () => {
        const { stdout } = await promisify(execFile)('pgrep', [
          '--parent',
          String(container.pid),
        ]).catch(() => ({ stdout: '' }));
        return stdout.trim() === '' ? null : stdout.trim().split('\n');
      });
      const enter = ['nsenter', '--target', first, '--mount', '--pid'];
      const main = await start('main', environment({ name: 'ci' }), enter).ended;
      expect(main).toMatchObject({ code: 0 });
      const { token = '' } = written('GITHUB_STATE');
      expect(await isLocked()).toBe(true);
      const post = await start('post', environment({ name: 'ci' }, { token }), enter).ended;
      expect(post).toMatchObject({ code: 0 });
      await untilNothingIsLeft(masters);
    } finally {
      container.kill('SIGKILL');
    }
  });

  test('the job fails when the lock was lost', async () => {
    await start('main', environment({ name: 'ci' })).ended;
    const { token = '' } = written('GITHUB_STATE');
    for (const master of masters) await master.flush();
    const { code, said } = await start('post', environment({ name: 'ci' }, { token })).ended;
    expect(code).toBe(1);
    expect(said).toContain('::error title=redlock-run::"ci": the lock was lost');
  });

  test('a job that is cancelled while it waits leaves the queue', async () => {
    await start('main', environment({ name: 'ci' })).ended;
    const { token = '' } = written('GITHUB_STATE');
    const { child, ended } = start('main', environment({ name: 'ci' }));
    await eventually('a waiter', async () =>
      (await (masters[0] as (typeof masters)[number]).keys()).some((key) => /queue|line/.test(key)),
    );
    child.kill('SIGINT');
    expect((await ended).code).not.toBe(0);
    await start('post', environment({ name: 'ci' }, { token })).ended;
    await untilNothingIsLeft(masters);
  });
});

describe('the GitLab component', () => {
  const text = readFileSync(join(root, 'packaging/gitlab-component.yml'), 'utf8');
  let sha256 = '';
  beforeAll(() => {
    const sums = readFileSync(join(process.env.RELEASE_DIR ?? '', 'SHA256SUMS'), 'utf8');
    sha256 = /^([0-9a-f]{64}) {2}install\.sh$/m.exec(sums)?.[1] ?? '';
  });
  const [head, body] = parseAllDocuments(text).map((document) => document.toJS());
  const inputs: Record<string, { default?: string }> = head.spec.inputs;

  /** Runs the job as the runner does: it puts variables into one another, but where told not to. */
  const job = (given: Record<string, string>) => {
    const filled = (one: string) =>
      one.replace(
        /\$\[\[ inputs\.(\w+) \]\]/g,
        (_, name: string) => given[name] ?? inputs[name]?.default ?? '',
      );
    const { variables, script } = body['$[[ inputs.job ]]'] as {
      variables: Record<string, string | { value: string; expand: boolean }>;
      script: string[];
    };
    const values = Object.entries(variables).map(([name, one]) => {
      if (typeof one !== 'string' && !one.expand) return [name, filled(one.value)];
      return [name, filled(typeof one === 'string' ? one : one.value).replace(/\$\w+/g, '')];
    });
    const cwd = mkdtempSync(join(scratchFolder(), 'gitlab-'));
    const env = {
      PATH: process.env.PATH,
      ...environmentFor(masters),
      ...Object.fromEntries(values),
    };
    // The runner gives all lines to one shell.
    const lines = ['set -e', ...script.map(filled)].join('\n');
    return promisify(execFile)('bash', ['-c', lines], { cwd, env });
  };

  test('runs its script under the lock, with the variables of the script', async () => {
    const script = 'd=$(pwd)\ntest -n "$d" && echo "ran $REDLOCK_NAME"';
    const options = '--label "a label"';
    const { stdout } = await job({ name: 'lab', script, options, url, sha256 });
    expect(stdout).toMatch(/^ran lab$/m);
    await untilNothingIsLeft(masters);
  });

  test('installs nothing by a script with another checksum', async () => {
    const ended = job({ name: 'lab', script: 'echo ran', url, sha256: '0'.repeat(64) });
    await expect(ended).rejects.toMatchObject({ stdout: expect.not.stringContaining('ran') });
  });

  test.each([
    ['a name that would be taken for an option', { name: '--version' }, 'name: '],
    ['an option that runs nothing', { options: '--wait 1s --help' }, 'options: '],
    ['a cluster of switches that runs nothing', { options: '--note x -nV' }, 'options: '],
    ['a url without a checksum', { url, sha256: '' }, 'sha256: missing: '],
  ])('refuses %s', async (_, given, message) => {
    const ended = job({ name: 'lab', script: 'echo ran', url, sha256, ...given });
    await expect(ended).rejects.toMatchObject({
      code: 64,
      stderr: expect.stringContaining(message),
      stdout: expect.not.stringContaining('ran'),
    });
  });
});
