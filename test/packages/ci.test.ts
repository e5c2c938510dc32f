// The GitHub action and the GitLab component, run as their runners do, with the runner's variables
// and files, from the files of a release in RELEASE_DIR. What cannot be run here is the runner.

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { environmentFor, locksOn, untilNothingIsLeft, useMasters } from '../cli/rig.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const root = join(import.meta.dirname, '../..');
const { masters } = useMasters(3);
const url = `file://${process.env.RELEASE_DIR}`;
const isLocked = async () => (await locksOn(masters[0] as (typeof masters)[number])).length > 0;

beforeAll(() => {
  if (!process.env.RELEASE_DIR) throw new Error('RELEASE_DIR: not set: see release.test.ts');
});

describe('the action', () => {
  const action = parse(readFileSync(join(root, 'action.yml'), 'utf8'));
  let temporary: string;

  beforeEach(() => {
    temporary = mkdtempSync(join(scratchFolder(), 'runner-'));
    for (const name of ['GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_PATH'])
      writeFileSync(join(temporary, name), '');
  });

  /** What a runner sets; `inputs` as in `with:`, `state` as the main step has left it. */
  function environment(inputs: Record<string, string>, state: Record<string, string> = {}) {
    const given = Object.keys(action.inputs).map((name) => [
      `INPUT_${name.toUpperCase()}`,
      inputs[name] ?? '',
    ]);
    const kept = Object.entries(state).map(([name, value]) => [`STATE_${name}`, value]);
    const files = ['GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_PATH'].map((name) => [
      name,
      join(temporary, name),
    ]);
    return {
      PATH: process.env.PATH,
      HOME: temporary,
      RUNNER_TEMP: temporary,
      ...environmentFor(masters),
      ...Object.fromEntries([...given, ...kept, ...files]),
      INPUT_URL: url,
    };
  }

  const start = (step: 'main' | 'post', env: NodeJS.ProcessEnv) => {
    const child = spawn(process.execPath, [join(root, action.runs[step])], { env });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        said += text;
      });
    const ended = new Promise<{ code: number | null; said: string }>((resolve) =>
      child.once('close', (code) => resolve({ code, said })),
    );
    return { child, ended };
  };

  /** What a step has written for the runner. */
  const written = (name: string): Record<string, string> =>
    Object.fromEntries(
      [
        ...readFileSync(join(temporary, name), 'utf8').matchAll(/^(\w+)<<(\S+)\n([\s\S]*?)\n\2$/gm),
      ].map(([, key, , value]) => [key, value]),
    );

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

  test('holds the lock for the job, and the post step releases it', async () => {
    const { code, said } = await start('main', environment({ name: 'ci', wait: '5s' })).ended;
    expect({ code, said }).toMatchObject({ code: 0 });
    const { token = '' } = written('GITHUB_STATE');
    expect(written('GITHUB_OUTPUT')).toEqual({ token });
    expect(said).toContain(`::add-mask::${token}\n`);
    expect(readFileSync(join(temporary, 'GITHUB_PATH'), 'utf8')).toBe(
      `${join(temporary, 'redlock-run/bin')}\n`,
    );
    expect(await isLocked()).toBe(true);
    const ctl = join(temporary, 'redlock-run/bin/redlockctl');
    const env = environment({ name: 'ci' });
    await promisify(execFile)(ctl, ['check', 'ci', '--token', token], { env });
    const post = await start('post', environment({ name: 'ci' }, { token })).ended;
    expect(post).toMatchObject({ code: 0 });
    await untilNothingIsLeft(masters);
  });

  test('the job fails when the lock was lost', async () => {
    await start('main', environment({ name: 'ci' })).ended;
    const { token = '' } = written('GITHUB_STATE');
    for (const master of masters) await master.flush();
    const { code, said } = await start('post', environment({ name: 'ci' }, { token })).ended;
    expect(code).toBe(1);
    expect(said).toContain('::error title=redlock-run::"ci": the lock was lost');
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
    expect((await ended).code).not.toBe(0);
    await untilNothingIsLeft(masters);
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

test('the GitLab component runs its script under the lock', async () => {
  const text = readFileSync(join(root, 'packaging/gitlab-component.yml'), 'utf8');
  const [head, body] = parseAllDocuments(text);
  const { inputs } = (head as NonNullable<typeof head>).toJS().spec as {
    inputs: Record<string, { default?: string }>;
  };
  const given: Record<string, string> = { name: 'lab', script: 'echo ran $REDLOCK_NAME', url };
  const filled = String(body).replace(
    /\$\[\[ inputs\.(\w+) \]\]/g,
    (_, name: string) => given[name] ?? inputs[name]?.default ?? '',
  );
  const { variables, script } = parse(filled).locked;
  const project = mkdtempSync(join(scratchFolder(), 'gitlab-'));
  const env = { PATH: process.env.PATH, ...environmentFor(masters), ...variables };
  // The runner gives all lines to one shell.
  const lines = ['set -e', ...script].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', lines], { cwd: project, env });
  expect(stdout).toMatch(/^ran lab$/m);
  await untilNothingIsLeft(masters);
});
