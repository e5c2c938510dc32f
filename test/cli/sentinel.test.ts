// One vote behind real sentinels: it follows the primary over a failover, with the grace of a
// promotion, and says what it is.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerOf } from '../ctl/rig.ts';
import { startMasters } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { type RunOptions, runCli, startCli } from '../servers/run-cli.ts';
import { type Sentinels, startSentinels, stopSentinels } from '../servers/sentinels.ts';
import { locksOn, type TestMaster, useMasters } from './rig.ts';

useMasters(0);

let pair: TestMaster[];
let sentinels: Sentinels;
let url: string;

const login = { requirepass: 's3cret', masterauth: 's3cret' };

beforeAll(async () => {
  const config = { ...login, 'repl-diskless-sync-delay': '0' };
  pair = await startMasters(2, { transport: 'tcp', config });
  const [primary, replica] = pair as [TestMaster, TestMaster];
  await replica.command('replicaof', '127.0.0.1', new URL(primary.url).port);
  await eventually('synchronised', async () =>
    String(await replica.command('info', 'replication')).includes('master_link_status:up'),
  );
  sentinels = await startSentinels(primary, 3, ['sentinel auth-pass mymaster s3cret']);
  const hosts = sentinels.ports.map((port) => `127.0.0.1:${port}`).join(',');
  url = `redis+sentinel://:s3cret@${hosts}/mymaster`;
});
afterAll(stopSentinels);

const env = (changes: Record<string, string> = {}): RunOptions => ({
  env: { REDLOCK_MASTERS: url, REDLOCK_RESTART_GRACE: '0', ...changes },
});

async function primary(): Promise<TestMaster> {
  const port = String(await sentinels.primaryPort());
  return pair.find((one) => one.url.endsWith(`:${port}`)) as TestMaster;
}

test('a run locks on the primary that the sentinels name, and leaves nothing', async () => {
  const args = ['name', '--', 'sh', '-c', 'echo $REDLOCK_TOKEN'];
  const { code, stdout, stderr } = await runCli(args, env());
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\S{27}\n$/);
  expect(await locksOn(await primary())).toEqual([]);
});

test('a failover during a run costs it nothing; then the grace holds new runs back', async () => {
  const args = ['--ttl', '6s', '-k', '200ms', 'name', '-c', 'echo on; sleep 9; echo end'];
  // A server that has restarted within the grace says that instead.
  const uptime = async (one: TestMaster) =>
    Number(/uptime_in_seconds:(\d+)/.exec(String(await one.command('info', 'server')))?.[1]);
  for (const one of pair) await eventually('old', async () => (await uptime(one)) > 5, 10_000);
  const run = startCli(args, env());
  await eventually('it runs', () => run.stdout.includes('on'), 20_000);
  const before = await primary();
  await sentinels.failOver();
  const after = await primary();
  expect(after.url).not.toBe(before.url);
  const graced = { REDLOCK_RESTART_GRACE: '5s' };
  const refused = await runCli(['-n', 'other', '--', 'echo', 'never'], env(graced));
  expect([refused.code, refused.stdout]).toEqual([69, '']);
  expect(refused.stderr).toMatch(
    /redis\+sentinel:\S+: was promoted \d s ago and may have forgotten/,
  );
  const waited = await runCli(['-w', '20s', 'other', '--', 'echo', 'ran'], env(graced));
  expect([waited.code, waited.stdout], waited.stderr).toEqual([0, 'ran\n']);
  const { code, stdout, stderr } = await run.result;
  expect([code, stdout], stderr).toEqual([0, 'on\nend\n']);
  await eventually('released there', async () => (await locksOn(after)).length === 0, 10_000);
});

test('a primary that is killed is followed as well, by a run that waits', async () => {
  const before = await primary();
  await before.kill();
  const args = ['-w', '40s', '--ttl', '40s', 'name', '--', 'echo', 'ran'];
  const { code, stdout, stderr } = await runCli(args, env({ REDLOCK_GIVE_UP_AFTER: '40s' }));
  expect([code, stdout], stderr).toEqual([0, 'ran\n']);
  expect((await primary()).url).not.toBe(before.url);
});

test('doctor says that it is no independent master', async () => {
  const { code, json } = await answerOf([], ['doctor'], env());
  const found = json.findings.find(({ check }: { check: string }) => check === 'replicas');
  expect([code === 0 || code === 78, found.grade, found.message]).toEqual([
    true,
    'warning',
    'follows a primary by its sentinels: one vote, and no independent master',
  ]);
});

test.each([
  [
    'an unknown name',
    () => url.replace('mymaster', 'other'),
    /: watches no primary "other" \(correct the name\)\n$/,
  ],
  [
    'an address without sentinels',
    () => {
      const { port } = new URL(pair.find((one) => one.isRunning)?.url ?? '');
      return `redis+sentinel://:s3cret@127.0.0.1:${port}/m`;
    },
    /is no sentinel/,
  ],
  ['a wrong password', () => url.replace('s3cret', 'wrong'), /its primary \S+: WRONGPASS/],
])('%s: 78, with what is wrong', async (_, address, why) => {
  const { code, stderr } = await runCli(['n', '--', 'true'], env({ REDLOCK_MASTERS: address() }));
  expect([code, stderr]).toEqual([78, expect.stringMatching(why)]);
  expect(stderr).not.toMatch(/s3cret|wrong/);
});

test('sentinels that do not answer: 69, and each is named', async () => {
  const address = 'redis+sentinel://127.0.0.1:1,127.0.0.1:2/mymaster';
  const args = ['-n', 'n', '--', 'true'];
  const { code, stderr } = await runCli(args, env({ REDLOCK_MASTERS: address }));
  expect([code, stderr]).toEqual([
    69,
    expect.stringMatching(
      /no sentinel names a primary: 127\.0\.0\.1:[12]: connection refused, 127.* \(start them/,
    ),
  ]);
});

test('one of three sentinels alone is not believed: 69; the only one in a list is', async () => {
  const [port] = sentinels.ports;
  const nobody = '127.0.0.1:1,127.0.0.1:2';
  const alone = `redis+sentinel://:s3cret@127.0.0.1:${port},${nobody}/mymaster`;
  const short = { REDLOCK_GIVE_UP_AFTER: '0' };
  const refused = await runCli(
    ['-n', 'alone', '--', 'echo', 'never'],
    env({ REDLOCK_MASTERS: alone, ...short }),
  );
  expect([refused.code, refused.stdout]).toEqual([69, '']);
  expect(refused.stderr).toMatch(/too few of 3 sentinels name one primary: 127\.0\.0\.1:\d+ by 1/);
  const one = `redis+sentinel://:s3cret@127.0.0.1:${port}/mymaster`;
  const ran = await runCli(
    ['-w', '10s', 'alone', '--', 'echo', 'ran'],
    env({ REDLOCK_MASTERS: one }),
  );
  expect([ran.code, ran.stdout], ran.stderr).toEqual([0, 'ran\n']);
});
