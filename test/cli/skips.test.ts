// Runs that are refused and do not wait: one line for each name and host, with a count, and what
// `check` makes of it.

import { expect, test } from 'vitest';
import { ctl } from '../ctl/rig.ts';
import { giveWayTo, obedient, takeBy, useMasters } from './rig.ts';

const { masters, run, start } = useMasters(3);

async function historyOf(name: string) {
  return JSON.parse((await ctl(masters, ['history', name, '--json'])).stdout).runs;
}

/** Each refuses to wait; its attempts are counted as one run. */
const notWaiting = [
  ['-n'],
  ['-w', '0'],
  ['-n', '-q', '-E', '0'],
  ['--retry-count', '2', '--retry-delay', '10ms'],
];

test('each way not to wait counts once, in one line with the holder and last time', async () => {
  const holder = start(['--note', 'why', 'a', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  for (const options of notWaiting) await run([...options, 'a', '--', 'echo']);
  const [skipped, ...others] = (await historyOf('a')).filter(
    ({ outcome }: { outcome: string }) => outcome === 'busy',
  );
  expect(others).toEqual([]);
  const blocker = { pid: holder.child.pid, note: 'why' };
  expect(skipped).toMatchObject({ count: 4, label: 'echo', heldMs: null, masters: 3, blocker });
  expect(Date.parse(skipped.firstAt)).toBeLessThan(Date.parse(skipped.endedAt));
  const { stdout, stderr } = await ctl(masters, ['history', 'a']);
  expect(stdout).toMatch(/did not run \(4 times since .*\)\n[\s\S]*held by .*, note "why"/);
  expect(stderr).toContain('5 runs, 4 did not happen');
  holder.signal('SIGTERM');
  await holder.result;
});

test('no line with --no-history, and none of a run that waits and is granted', async () => {
  await takeBy('theirs', masters, 'a');
  await run(['-n', '--no-history', 'a', '--', 'true']);
  const waiter = start(['a', '--', 'true']);
  await giveWayTo(waiter, masters, 'a');
  await waiter.result;
  expect(await historyOf('a')).toMatchObject([{ outcome: 'ran', count: 1, firstAt: null }]);
});

test('a master alone that refuses counts for nothing', async () => {
  await masters[0]?.command('set', 'redlock:a', 'a remainder', 'px', 60_000);
  await run(['-n', 'a', '--', 'true']);
  expect(await historyOf('a')).toMatchObject([{ outcome: 'ran' }]);
});

test('contenders that split the vote are counted only if refused in the end', async () => {
  const args = ['-n', '--hold-at-least', '5s', 'a', '--', 'true'];
  const codes = await Promise.all(Array.from({ length: 5 }, async () => (await run(args)).code));
  const refused = codes.filter((code) => code === 75).length;
  const runs = await historyOf('a');
  const skips = runs.filter(({ outcome }: { outcome: string }) => outcome === 'busy');
  expect(codes.filter((code) => code === 0)).toHaveLength(5 - refused);
  expect(skips.map(({ count }: { count: number }) => count)).toEqual(refused > 0 ? [refused] : []);
});

test('a refusal stands where masters forbid its record or have something else there', async () => {
  await takeBy('theirs', masters, 'a');
  const [first, second, third] = masters;
  await first?.command('set', '{redlock:a}:facts:history', 'theirs');
  await second?.command('config', 'set', 'maxmemory', 1);
  await third?.command('acl', 'setuser', 'default', '-hset');
  try {
    expect(await run(['-n', 'a', '--', 'true'])).toMatchObject({ code: 75 });
  } finally {
    await second?.command('config', 'set', 'maxmemory', 0);
    await third?.command('acl', 'setuser', 'default', '+@all');
  }
  expect(await first?.get('{redlock:a}:facts:history')).toBe('theirs');
});
