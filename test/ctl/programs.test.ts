// Each verb by the built program and in the process of the test (rig.ts): the same answer, on
// stdout, on stderr and by the exit code. So the other tests may call it in their own process.

import { expect, test } from 'vitest';
import { takeBy, useMasters } from '../cli/rig.ts';
import { runOf, took, utc } from './history-rig.ts';
import { ctl, startedCtl } from './rig.ts';

const { masters } = useMasters(3);

test.each([
  [['--version'], 0],
  [['--help'], 0],
  [['freeze', '--help'], 0],
  [['statsu', 'a'], 64],
  [['status', 'a', '--config', '/nowhere/redlockrc'], 78],
  [['status', 'a', 'free'], 75],
  [['list', '--json'], 0],
  [['history', 'a'], 0],
  [['stop', 'free'], 0],
  [['break', 'a'], 64],
  [['break', 'a', '--yes', '--token', 'other'], 75],
  [['freeze', 'a', '--note', ''], 64],
  [['thaw', 'a'], 0],
  [['acquire', 'a', '-n'], 75],
  [['check', 'a', '--token', 'other'], 79],
  [['extend', 'a', '--token', 'other'], 79],
  [['release', 'a', '--token', 'other'], 79],
  [['metrics'], 0],
  [['doctor', '--json'], 78],
  [['acl'], 0],
  [['wait', 'a', '-w', '0'], 75],
  [['completion', 'bash'], 0],
  [['completion', 'words', '--', 'redlockctl', 'status', ''], 0],
])('%j', async (args, code) => {
  await took(masters, 'a', '2026-11-21T02:00:00Z', runOf());
  await takeBy('them', masters, 'a', 10_000_000);
  const [started, called] = [await startedCtl(masters, args, utc), await ctl(masters, args, utc)];
  const seen = ({ code, signal, stdout, stderr }: typeof started) => ({
    code,
    signal,
    stdout: withoutTimes(stdout),
    stderr: withoutTimes(stderr),
  });
  expect(seen(called)).toEqual(seen(started));
  expect(started.code).toBe(code);
});

/** Without what is later in the second call. */
function withoutTimes(text: string): string {
  return text
    .replace(/"(\w*Ms|usedBytes)":\s*\d+(\.\d+)?/g, '"$1": MS')
    .replace(/\b(\d+(\.\d+)? ?(ms|[hms]))+\b/g, 'SPAN')
    .replace(/^(redlock_\w+_seconds\S*) \S+$/gm, '$1 SECONDS');
}

// As root the folder counts as ours, and mkdir(2) says there that it does not exist.
test('ends where no folder can be made for what was compiled', async () => {
  const env = { XDG_CACHE_HOME: '/proc/cache' };
  expect(await startedCtl(masters, ['list'], { env })).toMatchObject({ code: 0 });
});
