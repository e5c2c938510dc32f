// Configuration files of another user, or that are no files, where the built program finds them.
// The other cases are in test/unit/config/text-file.test.ts. No test here makes a connection.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generous } from '../servers/patience.ts';
import { readableProgram } from '../servers/readable-copy.ts';
import { interpreter, program, runCli } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { environmentFor } from './rig.ts';

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const searching = { REDLOCK_CONFIG: undefined };
const plan = ['--dry-run', '-v', '--local', 'name', '--', 'true'];

/** A folder such as /tmp, with a working directory of the caller in it. */
function sharedFolder() {
  const folder = mkdtempSync(join(scratchFolder(), 'shared-'));
  chmodSync(folder, 0o1777);
  mkdirSync(join(folder, 'ours/deep'), { recursive: true });
  return { file: join(folder, '.redlockrc'), cwd: join(folder, 'ours/deep') };
}

test.runIf(isRoot)('neither program uses a file of another user in a parent folder', async () => {
  const { file, cwd } = sharedFolder();
  const text =
    'masters: ["unix:///nowhere"]\nttl: 600ms\n' +
    `onLost: touch ${cwd}/proof\npasswordFile: /etc/shadow\n`;
  writeFileSync(file, text, { mode: 0o644 });
  chownSync(file, nobody, nobody);
  for (const [name, args] of [
    ['redlock-run', ['name', '--', 'true']],
    ['redlock-run', ['--master', 'unix:///elsewhere', 'name', '--', 'true']],
    ['redlock-run', plan],
    ['redlockctl', ['status', 'name']],
  ] as const) {
    const { code, stdout, stderr } = await runCli(args, { program: name, cwd, env: searching });
    expect([args, code, stdout]).toEqual([args, 78, '']);
    const why = 'belongs to nobody (uid 65534), not to you or root (name it by --config to use it)';
    expect(stderr).toBe(`${name}: config: ${file}: ${why}\n`);
  }
});

test('a pipe and a directory in a parent folder are refused at once', async () => {
  for (const [make, what] of [
    [(path: string) => execFileSync('mkfifo', [path]), 'a pipe'],
    [(path: string) => mkdirSync(path), 'a directory'],
  ] as const) {
    const { file, cwd } = sharedFolder();
    make(file);
    const { code, stderr } = await runCli(plan, { cwd, env: searching, timeoutMs: 30_000 });
    expect([code, stderr]).toEqual([
      78,
      expect.stringContaining(`config: ${file}: is ${what} of `),
    ]);
  }
});

test.each(['onLost', 'notify'])(
  'a file of the caller that was found may be named, and then hold %s',
  async (key) => {
    const { file, cwd } = sharedFolder();
    writeFileSync(file, `ttl: 9s\n${key}: "true"\n`, { mode: 0o600 });
    const found = await runCli(plan, { cwd, env: searching });
    expect(found).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(new RegExp(`:2: ${key}: .*--config`)),
    });
    const named = await runCli(['--config', file, ...plan], { cwd, env: searching });
    expect(named).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ttl +9s /m) });
  },
);

const namespace = isRoot ? ['-m'] : ['-r', '-m'];
const hasNamespaces = spawnSync('unshare', [...namespace, 'true']).status === 0;
if (!hasNamespaces)
  process.stderr.write('  SKIPPED: a file system boundary: no mount namespaces\n');

test.skipIf(!hasNamespaces)(
  'the search does not leave the file system of the working directory',
  () => {
    const { file, cwd } = sharedFolder();
    writeFileSync(file, 'ttl: 9s\n', { mode: 0o600 });
    // The search ends here at the latest, so that it never reaches /etc.
    const home = mkdtempSync(join(scratchFolder(), 'home-'));
    mkdirSync(join(home, '.config/redlock-run'), { recursive: true });
    writeFileSync(join(home, '.config/redlock-run/config.yaml'), 'ttl: 8s\n');
    const run = (line: string) => {
      const script = `${line}; cd "$1" && exec "$2" "$3" --dry-run --local name -- true`;
      const env = { PATH: process.env.PATH, HOME: home };
      const args = [...namespace, 'sh', '-ec', script, 'sh', cwd, interpreter, program];
      return spawnSync('unshare', args, { env, encoding: 'utf8', timeout: generous(60_000) });
    };
    const [same, other] = [run('true'), run('mount -t tmpfs none "$1"')];
    expect([same.status, other.status], same.stderr + other.stderr).toEqual([0, 0]);
    expect(same.stdout).toMatch(/^ttl +9s$/m);
    expect(other.stdout).toMatch(/^ttl +8s$/m);
  },
);

const hasOther = !isRoot || !spawnSync('setpriv', ['--version']).error;
if (!hasOther) process.stderr.write('  SKIPPED: a closed folder: no setpriv\n');

test.skipIf(!hasOther)('a folder or a home that may not be entered is no error', async () => {
  const closed = mkdtempSync(join(scratchFolder(), 'closed-'));
  const user = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
  const script = 'cd "$1" && chmod 0 . && shift && exec "$@"';
  const through = ['sh', '-c', script, 'sh', closed, ...(isRoot ? user : [])];
  // Root may enter every directory, so root runs this as another user.
  const { code, stderr, stdout } = await runCli(plan, {
    through,
    path: readableProgram(),
    env: { ...searching, HOME: closed },
  });
  chmodSync(closed, 0o700);
  // The search reaches /etc, where this machine may have a file with a mistake.
  if (stderr.startsWith('redlock-run: /etc/redlockrc')) return;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^ttl /m);
});

test('programs that tests start use no configuration of this machine', async () => {
  expect(Object.keys(process.env).filter((name) => /^REDLOCK_(?!RUN_PROGRAM)/.test(name))).toEqual([
    'REDLOCK_CONFIG',
  ]);
  expect(environmentFor([])).toMatchObject({ REDLOCK_CONFIG: '/dev/null' });
  expect((await runCli(plan)).stdout).toMatch(/^config file +"\/dev\/null"/m);
});
