// Metrics for Prometheus: what is in them, as promtool reads them where it is installed, and the
// file that is written in one step.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderMetrics } from '../../src/ctl/metrics.ts';
import { isOnEach, useMasters } from '../cli/rig.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { missedFor, runOf, took } from './history-rig.ts';
import { answerOf, ctl, hold, queueUp } from './rig.ts';

const rig = useMasters(3);
const { masters } = rig;

/** Each sample by its name and labels. */
function samplesIn(text: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

/** Checks what promtool would refuse, and asks promtool where there is one. */
function expectWellFormed(text: string): void {
  const names = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name);
  expect([...text.matchAll(/^# HELP (\S+) \S.*$/gm)].map(([, name]) => name)).toEqual(names);
  expect(new Set(names).size).toBe(names.length);
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(
      /^(# (HELP|TYPE) .*|redlock_\w+(\{(\w+="([^"\\\n]|\\[\\"n])*",?)+\})? \S+)$/,
    );
  const { error, status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text });
  if (error === undefined)
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' });
}

test('held, waiting, frozen, and what the history says', async () => {
  // First: it removes histories that have not changed for a month.
  await ctl(masters, ['freeze', 'release', '--note', 'why']);
  const blocker = { token: 't', record: null };
  await took(masters, 'backup', '2026-11-21T02:00:00Z', runOf({ heldMs: 90_500 }));
  await took(masters, 'backup', '2026-11-22T02:00:00Z', missedFor(blocker));
  await took(masters, 'backup', '2026-11-23T02:00:00Z', missedFor(blocker));
  const lost = { outcome: 'lost', status: 79, heldMs: 1_000, exitCode: null };
  await took(masters, 'backup', '2026-11-24T02:00:00Z', runOf(lost));
  await hold(masters, 'deploy');
  const leave = await queueUp(masters, 'deploy', 2);
  const { code, stdout } = await ctl(masters, ['metrics']);
  await leave();
  expect(code).toBe(0);
  expectWellFormed(stdout);
  const samples = samplesIn(stdout);
  expect(samples).toMatchObject({
    [`redlock_master_up{master="${masters[0]?.url}"}`]: 1,
    'redlock_held_seconds{lock="deploy"}': expect.any(Number),
    'redlock_waiters{lock="deploy"}': 2,
    'redlock_waiters{lock="backup"}': 0,
    'redlock_frozen_seconds{lock="release"}': expect.any(Number),
    'redlock_last_success_timestamp_seconds{lock="backup"}':
      Date.parse('2026-11-21T02:00:00Z') / 1e3,
    'redlock_last_run_timestamp_seconds{lock="backup"}': Date.parse('2026-11-24T02:00:00Z') / 1e3,
    'redlock_last_duration_seconds{lock="backup"}': 1,
    'redlock_skips{lock="backup"}': 2,
    'redlock_losses{lock="backup"}': 1,
    'redlock_runs{lock="backup",outcome="ran"}': 1,
    'redlock_runs{lock="backup",outcome="busy"}': 2,
    'redlock_runs{lock="backup",outcome="lost"}': 1,
  });
  expect(samples).not.toHaveProperty(['redlock_held_seconds{lock="backup"}']);
  expect(samples).not.toHaveProperty(['redlock_frozen_seconds{lock="deploy"}']);
});

test('skips are those since the last success, as check counts them', async () => {
  const skipped = async () => {
    const { stdout } = await ctl(masters, ['metrics']);
    return samplesIn(stdout)['redlock_skips{lock="backup"}'];
  };
  const refuse = async (count: number) => {
    const { stdout: token } = await ctl(masters, ['acquire', 'backup']);
    for (let nth = 0; nth < count; nth += 1)
      expect((await rig.run(['-n', 'backup', '--', 'true'])).code).toBe(75);
    await ctl(masters, ['release', 'backup', '--token', token.trim()]);
  };
  await refuse(3);
  expect(await skipped()).toBe(3);
  expect((await rig.run(['backup', '--', 'true'])).code).toBe(0);
  expect(await skipped()).toBe(0);
  await refuse(1);
  expect(await skipped()).toBe(1);
  const check = (most: number) => ctl(masters, ['check', 'backup', '--max-skips', String(most)]);
  expect([(await check(0)).code, (await check(1)).code]).toEqual([1, 0]);
});

test('the alerts of docs/monitoring.md name real metrics, as promtool reads them', async () => {
  const page = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
  const [, rules = ''] = /<!-- rules -->\n```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  expect(parse(rules).groups[0].rules).toHaveLength(4);
  const { json } = await answerOf(masters, ['metrics']);
  const names = json.metrics.map(({ name }: { name: string }) => name);
  const used = page.match(/\bredlock_[a-z_]+/g);
  expect([...new Set(used)].sort()).toEqual([...names].sort());
  const file = join(mkdtempSync(join(scratchFolder(), 'rules-')), 'rules.yml');
  writeFileSync(file, rules);
  const { error, status, stdout } = spawnSync('promtool', ['check', 'rules', file]);
  if (error === undefined)
    expect({ status, stdout: String(stdout) }).toEqual({
      status: 0,
      stdout: expect.stringMatching(/4 rules found/),
    });
});

test('names of locks are escaped', async () => {
  const name = 'a "b" \\ \u001b[31m\nc';
  expect((await rig.run([name, '--', 'true'])).code).toBe(0);
  const { stdout } = await ctl(masters, ['metrics']);
  expectWellFormed(stdout);
  expect(stdout).toContain('redlock_skips{lock="a \\"b\\" \\\\ \\\\u001b[31m\\\\nc"} 0\n');
  const samples = [{ labels: { lock: 'x' }, value: 1 }];
  expect(renderMetrics([{ name: 'n', help: 'a\\b\nc', type: 'gauge', samples }])).toBe(
    '# HELP n a\\\\b\\nc\n# TYPE n gauge\nn{lock="x"} 1\n',
  );
});

test('--textfile: written in one step, with the mode of the file that was there', async () => {
  const folder = mkdtempSync(join(scratchFolder(), 'metrics-'));
  const file = join(folder, 'redlock.prom');
  writeFileSync(file, 'old');
  chmodSync(file, 0o640);
  const inode = statSync(file).ino;
  const { code, stdout } = await ctl(masters, ['metrics', '--textfile', file]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expectWellFormed(readFileSync(file, 'utf8'));
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(statSync(file).ino).not.toBe(inode);
  expect(readdirSync(folder)).toEqual(['redlock.prom']);
  const nowhere = await ctl(masters, ['metrics', '--textfile', join(folder, 'no', 'x.prom')]);
  expect(nowhere.code).toBe(74);
  expect(nowhere.stderr).toMatch(/--textfile: .*: no such directory/);
});

test('masters that are down are told; without a quorum nothing of locks: 69', async () => {
  await hold(masters, 'deploy');
  await isOnEach(masters, 'deploy');
  masters[0]?.freeze();
  const one = await ctl(masters, ['metrics']);
  expect(one.code).toBe(0);
  expect(samplesIn(one.stdout)).toMatchObject({
    [`redlock_master_up{master="${masters[0]?.url}"}`]: 0,
    'redlock_held_seconds{lock="deploy"}': expect.any(Number),
  });
  masters[1]?.freeze();
  const two = await ctl(masters, ['metrics']);
  expect(two.code).toBe(69);
  expectWellFormed(two.stdout);
  expect(Object.values(samplesIn(two.stdout))).toEqual([0, 0, 1]);
});
