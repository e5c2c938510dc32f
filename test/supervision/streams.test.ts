// The command's streams are its own: nothing that a reader or a writer does, or stops doing, may
// cost the lock. That all bytes arrive is tested in cli, and the speed of gigabytes in long.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noConfiguration } from '../servers/no-configuration.ts';
import { nodeProgram } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { pass, sharedMasters } from './rig.ts';

const program = nodeProgram('redlock-run');

/**
 * A line for bash, in which rl is redlock-run with these masters; its exit code and how long it
 * took.
 */
async function shell(line: string) {
  const masters = await sharedMasters();
  const home = mkdtempSync(join(scratchFolder(), 'streams-'));
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    NODE: process.execPath,
    PROGRAM: program,
    REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
    REDLOCK_RESTART_GRACE: '0',
    ...noConfiguration,
  };
  const startedAt = performance.now();
  const child = spawn('bash', ['-c', `rl() { "$NODE" "$PROGRAM" "$@"; }; ${line}`], {
    env,
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr, elapsedMs: performance.now() - startedAt };
}

it.concurrent('a reader that leaves ends the command by SIGPIPE, as without it', async () => {
  const { stdout, stderr } = await shell(
    'set -o pipefail; rl endless -- yes | head -1; echo "code $?"',
  );
  expect([stdout, stderr]).toEqual(['y\ncode 141\n', '']);
});

it.concurrent('a reader of stderr that leaves costs nothing, whatever is written', async () => {
  const { stdout } = await shell(
    '{ rl -v --ttl 6s -k 200ms left -- sh -c "sleep 2.5; echo done"; echo "code $?"; } 2> >(true)',
  );
  expect(stdout).toBe('done\ncode 0\n');
});

it.concurrent('a reader of stderr that reads no more costs neither the lock nor time', async () => {
  const masters = await sharedMasters();
  const folder = mkdtempSync(join(scratchFolder(), 'stalled-'));
  const pipe = join(folder, 'pipe');
  const fill = spawn('sh', ['-c', `mkfifo ${pipe}; exec sleep 60 <> ${pipe}`], { stdio: 'ignore' });
  await pass(300);
  const end = openSync(pipe, 'w');
  const urls = masters.map(({ url }) => url).join(',');
  // Until nothing more goes into the pipe.
  const command = [
    'sh',
    '-c',
    `timeout 1 head -c 1000000 /dev/zero >&2; sleep 6; echo "$REDLOCK_NAME" > ${folder}/ran`,
  ];
  const run = spawn(
    process.execPath,
    [program, '-v', '--ttl', '5s', '-k', '200ms', 'suspended', '--', ...command],
    {
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        REDLOCK_MASTERS: urls,
        REDLOCK_RESTART_GRACE: '0',
        ...noConfiguration,
      },
      stdio: ['ignore', 'ignore', end],
    },
  );
  const [code] = await once(run, 'exit');
  fill.kill('SIGKILL');
  expect(code).toBe(0);
  expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('suspended\n');
});

it.concurrent.each([
  ['no stdin', 'rl closed0 -- sh -c "read x || echo none" <&-', 'none\ncode 0\n'],
  ['no stdout', 'rl closed1 -- sh -c "echo lost" >&-', 'code 0\n'],
  ['no stderr', 'rl -v closed2 -- echo said 2>&-', 'said\ncode 0\n'],
  ['none of the three', 'rl -v closed3 -- true <&- >&- 2>&-', 'code 0\n'],
])('%s: the command runs, and its code is ours', async (_title, line, stdout) => {
  expect(await shell(`${line}; echo "code $?"`)).toMatchObject({ stdout, stderr: '' });
});
