// `redlockctl wait`: until a lock is free, without taking it; three ends that are never mixed up.

import { expect, test } from 'vitest';
import { locksOn, takeBy, useMasters } from '../cli/rig.ts';
import { answerOf, ctl, hold, startCtl } from './rig.ts';

const { masters } = useMasters(3);

/** As when its holder has died. */
async function runOut(name: string): Promise<void> {
  for (const master of masters) await master.command('pexpire', `redlock:${name}`, 1);
}

test('0 when the lock is free, at once, and no key is left', async () => {
  const { code, text, json, stderr } = await answerOf(masters, ['wait', 'deploy']);
  expect({ code, text, stderr }).toEqual({ code: 0, text: '', stderr: '' });
  expect(json).toMatchObject({ lock: { name: 'deploy', state: 'free' } });
  for (const master of masters) expect(await locksOn(master)).toEqual([]);
});

test('0 when the lease of a dead holder runs out, of which it tells meanwhile', async () => {
  await hold(masters, 'deploy');
  const run = startCtl(masters, ['wait', 'deploy', '--json']);
  const form =
    /^redlockctl: waiting \d+s for "deploy": held by ops@web1 \(pid 4711, deploy\.sh\) for /m;
  await run.says('stderr', form);
  await runOut('deploy');
  const { code, stdout } = await run.result;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    waitedMs: expect.toSatisfy((ms) => ms > 0),
    lock: { state: 'free', holders: [] },
  });
  for (const master of masters) expect(await locksOn(master)).toEqual([]);
});

test('75 when it is still held after --wait; with 0 at once', async () => {
  await hold(masters, 'deploy');
  for (const wait of ['0', '600ms']) {
    const { code, stderr, json } = await answerOf(masters, ['wait', 'deploy', '-w', wait]);
    expect(code).toBe(75);
    expect(stderr).toMatch(
      /^redlockctl: busy: "deploy": held by ops@web1, .*\(wait longer with -w\)$/m,
    );
    expect(json.lock.state).toBe('held');
  }
});

test('giveUpAfter ends a wait for a quorum, not one for a lock that is held', async () => {
  await hold(masters, 'deploy');
  const env = { REDLOCK_GIVE_UP_AFTER: '0' };
  const { code, stdout } = await ctl(masters, ['wait', 'deploy', '-w', '300ms', '--json'], { env });
  expect(code).toBe(75);
  expect(JSON.parse(stdout).waitedMs).toBeGreaterThanOrEqual(300);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it while the lock is held', async (name) => {
  await hold(masters, 'deploy');
  const run = startCtl(masters, ['wait', 'deploy']);
  await run.says('stderr', /waiting/);
  run.signal(name);
  const { signal, stderr } = await run.result;
  expect([signal, stderr]).toEqual([name, expect.not.stringContaining('busy')]);
  expect((await ctl(masters, ['status', 'deploy'])).code).toBe(75);
});

test('75 for a lock that is shared, or has slots', async () => {
  for (const mark of ['shared', 'slots 3']) {
    await takeBy(mark, masters, 'deploy');
    expect((await ctl(masters, ['wait', 'deploy', '-w', '0'])).code).toBe(75);
  }
});

test('69 when no quorum answers for all of --wait, and 0 when it does again', async () => {
  for (const master of masters.slice(1)) await master.kill();
  const { code, stderr } = await answerOf(masters, ['wait', 'deploy', '-w', '700ms']);
  expect(code).toBe(69);
  expect(stderr).toMatch(/^redlockctl: no quorum: "deploy": (?!gave up).*connection refused/m);
  const env = { REDLOCK_GIVE_UP_AFTER: '700ms' };
  const givenUp = await answerOf(masters, ['wait', 'deploy'], { env });
  expect(givenUp.stderr).toMatch(/^redlockctl: no quorum: "deploy": gave up after 700ms \(/m);
  const run = startCtl(masters, ['wait', 'deploy']);
  await run.says('stderr', /waiting \d+s for "deploy": no quorum: /);
  for (const master of masters.slice(1)) await master.restart();
  expect((await run.result).code).toBe(0);
});

test('usage: a name, and no option that takes the lock', async () => {
  expect((await ctl(masters, ['wait'])).code).toBe(64);
  expect((await ctl(masters, ['wait', 'a', 'b'])).code).toBe(64);
  expect((await ctl(masters, ['wait', 'a', '--ttl', '3s'])).code).toBe(64);
});
