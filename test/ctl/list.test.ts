// Listing: which keys are locks, patterns, and thousands of locks without blocking a master. What a
// master was asked is read from its own statistics.

import { expect, test } from 'vitest';
import { useMasters } from '../cli/rig.ts';
import type { TestMaster } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { answerOf, ctl, hold, newValue } from './rig.ts';

const { masters } = useMasters(3);
const lockCount = 4_000;
const namesIn = (json: { locks: { name: string }[] }) => json.locks.map(({ name }) => name);

test('sorted, each once, from any master; without counters, queues and foreign data', async () => {
  await hold(masters, 'b');
  await masters[2]?.command('set', 'redlock:a', newValue());
  await masters[0]?.command('set', 'other', 'x');
  expect(namesIn((await answerOf(masters, ['list'])).json)).toEqual(['a', 'b']);
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what a colour begins with
const colour = /\x1b\[3[0-7]m/g;

test('the state has a colour by FORCE_COLOR, but not by an empty one', async () => {
  await hold(masters, 'b');
  const inColour = async (args: readonly string[], env: Record<string, string>) =>
    (await ctl(masters, args, { env })).stdout.match(colour) ?? [];
  const forced = { FORCE_COLOR: '1' };
  const [yellow, green, red] = ['\x1b[33m', '\x1b[32m', '\x1b[31m'];
  expect(await inColour(['list'], forced)).toEqual([yellow]);
  expect(await inColour(['status', 'b'], forced)).toEqual([yellow]);
  expect(await inColour(['status', 'free'], forced)).toEqual([green]);
  expect(await inColour(['list'], { FORCE_COLOR: '' })).toEqual([]);
  expect(await inColour(['list'], { ...forced, NO_COLOR: '1' })).toEqual([]);
  await masters[2]?.freeze();
  expect(await inColour(['status', 'free'], forced)).toEqual([green, red]);
  masters[2]?.thaw();
});

test('the line of a wait has a colour, as that of redlock-run has', async () => {
  await hold(masters, 'b');
  for (const verb of ['acquire', 'wait']) {
    const { stderr } = await ctl(masters, [verb, 'b', '-w', '2s'], { env: { FORCE_COLOR: '1' } });
    expect(stderr).toContain('redlockctl: \x1b[36mwaiting ');
  }
});

test('without a prefix as well', async () => {
  await masters[0]?.command('set', 'a', newValue());
  await masters[0]?.command('set', '{a}:fence', 1);
  await masters[0]?.command('zadd', '{a}:queue', 1, 'x');
  await masters[0]?.command('lpush', '{a}:runs:history', '1 x');
  await masters[0]?.markLongAgo('');
  const { json } = await answerOf(masters, ['list', '--prefix', '']);
  expect({ names: namesIn(json), leftOut: json.leftOut }).toEqual({ names: ['a'], leftOut: 0 });
});

test('without a prefix foreign data is left out, and foreign locks are listed', async () => {
  const [first] = masters;
  await first?.command('set', 'redisson_lock_token:{a}', 1);
  await first?.command('hset', 'user:1', 'name', 'x');
  await first?.command('set', 'theirs', 'x', 'px', 60_000);
  await first?.command('hset', 'their hash', 'id', 1);
  await first?.command('pexpire', 'their hash', 60_000);
  await first?.command('set', 'ours for ever', newValue());
  const { code, json, text, stderr } = await answerOf(masters, ['list', '--prefix', '']);
  expect(namesIn(json)).toEqual(['ours for ever', 'their hash', 'theirs']);
  expect(json.leftOut).toBe(2);
  expect(text).not.toMatch(/redisson|user:1/);
  expect(stderr).toMatch(
    /^redlockctl: 2 keys that never expire left out: without a prefix most likely no lock/m,
  );
  expect(code).toBe(0);
  const status = await answerOf(masters, ['status', 'user:1', '--prefix', '']);
  expect(status.json.locks[0]).toMatchObject({ state: 'orphan', holders: [{ kind: 'hash' }] });
});

test('under a prefix a lock of another program that never expires is listed', async () => {
  await masters[0]?.command('set', 'redlock:theirs', 'x');
  const { json, stderr } = await answerOf(masters, ['list']);
  expect({ names: namesIn(json), leftOut: json.leftOut, stderr }).toEqual({
    names: ['theirs'],
    leftOut: 0,
    stderr: '',
  });
});

test.each([
  ['deploy-*', ['deploy-a', 'deploy-b']],
  ['deploy-[b]', ['deploy-b']],
  ['nothing', []],
])('the pattern %s', async (pattern, names) => {
  for (const name of ['deploy-a', 'deploy-b', 'backup'])
    await masters[0]?.command('set', `redlock:${name}`, 'x');
  expect(namesIn((await answerOf(masters, ['list', pattern])).json)).toEqual(names);
});

test('a prefix with glob characters is taken literally', async () => {
  await masters[0]?.command('set', 'a*:one', 'x');
  await masters[0]?.command('set', 'ab:two', 'x');
  expect(namesIn((await answerOf(masters, ['list', '--prefix', 'a*:'])).json)).toEqual(['one']);
});

test('a name or a holder with line breaks stays on its line', async () => {
  await masters[0]?.command('set', 'redlock:a\nb\u001b[2J', 'x\ny\u001b[31m');
  const { text } = await answerOf(masters, ['list']);
  expect(text.split('\n')).toHaveLength(3);
  expect(text).not.toContain('\u001b');
});

test('thousands of locks by SCAN and never by KEYS, in many small requests', {
  timeout: generous(60_000),
}, async () => {
  await Promise.all(masters.map(fill));
  const { code, stdout } = await ctl(masters, ['list']);
  expect(code).toBe(0);
  expect(stdout.split('\n')).toHaveLength(lockCount + 2);
  for (const master of masters) {
    const stats = String(await master.command('info', 'commandstats'));
    const calls = (name: string) =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1]);
    expect(stats).not.toMatch(/cmdstat_keys:/);
    expect(calls('scan')).toBeGreaterThanOrEqual(lockCount / 1_000);
    expect(calls('eval')).toBeGreaterThanOrEqual(lockCount / 1_000);
  }
});

async function fill(master: TestMaster): Promise<void> {
  const script =
    "for i = 1, ARGV[2] do redis.call('set', 'redlock:fill-' .. i, ARGV[1], 'px', 600000) end";
  await master.command('eval', script, 0, newValue(), lockCount);
  await master.command('config', 'resetstat');
}
