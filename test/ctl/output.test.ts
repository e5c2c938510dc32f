// Standard output when its reader is slow, closes it early, or has no room.

import { spawnSync } from 'node:child_process';
import { beforeEach, expect, test } from 'vitest';
import { environmentFor, interpreter, useMasters } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { pathOf } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const { masters } = useMasters(3);
/** Their list has 120 KB: a pipe holds 64, and `head` has read 8 more before it goes. */
const count = 2_000;

/** A line for bash, in which redlockctl is "$0" "$1". */
function shell(line: string) {
  const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...environmentFor(masters) };
  const options = {
    env,
    timeout: generous(30_000),
    killSignal: 'SIGKILL' as const,
    encoding: 'utf8' as const,
  };
  return spawnSync('bash', ['-c', line, interpreter, pathOf('redlockctl')], options);
}

beforeEach(async () => {
  await masters[0]?.command(
    'eval',
    `for i = 1, ${count} do redis.call('set', 'redlock:l' .. i, 'x') end`,
    0,
  );
});

test('a slow reader gets all of it: a pipe holds a small part', () => {
  const { stdout } = shell(
    '"$0" "$1" list --json | { sleep 1; cat; } | tail -c 1000000; echo "code $PIPESTATUS"',
  );
  expect(stdout).toMatch(/"name":"l999".*\n\s*code 0\n$/s);
});

test('a reader may close the pipe early', () => {
  const { stdout } = shell('"$0" "$1" list 2>&1 | head -n 2; echo "code $PIPESTATUS"');
  expect(stdout).toMatch(/^NAME .*\nl1 .*\ncode 74\n$/);
});

test('an output that cannot be written is an error', () => {
  for (const words of ['list', 'completion bash', '--help']) {
    const { stdout, stderr } = shell(`"$0" "$1" ${words} >/dev/full; echo "code $?"`);
    expect({ stdout, stderr }).toEqual({
      stdout: 'code 74\n',
      stderr: 'redlockctl: output: no space left\n',
    });
  }
});
