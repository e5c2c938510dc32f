// Servers that must not be in the list of masters: the built program finds a server that is listed
// twice, under any name, and a replica, before the command runs. *Note:* a run does not wait for
// what one of three is once the two others have given the lock. So the second master stands still
// in the lists of three here: there is no quorum without the server that must not be there.

import { expect, test } from 'vitest';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import { startMasters } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { runCli, startCli } from '../servers/run-cli.ts';
import { forgetSet, recordSet, usersOf } from '../servers/used-sets.ts';
import { linesOf, locksOn, obedient, type TestMaster, useMasters } from './rig.ts';

const { masters } = useMasters(2, { transport: 'tcp' });

test('a server under two names, also as one of three: 78, and no command runs', async () => {
  const [first, second] = masters as [TestMaster, TestMaster];
  const proxy = await FaultyProxy.start(first.url);
  await second.freeze();
  const pair = [first.url, proxy.url];
  const byHost = [first.url, first.url.replace('127.0.0.1', 'localhost')];
  const results = await Promise.all(
    [pair, [...pair, second.url], [second.url, ...pair], byHost].map((urls) =>
      runCli(['name', '--', 'echo', 'never'], {
        env: {
          REDLOCK_MASTERS: urls.join(','),
          REDLOCK_RESTART_GRACE: '0',
          REDLOCK_PREFIX: `${Math.random()}:`,
        },
      }),
    ),
  );
  for (const { code, stdout, stderr } of results) {
    expect([code, stdout], stderr).toEqual([78, '']);
    expect(stderr).toMatch(/^redlock-run: masters: .*(is the same server as|listed twice)/);
    expect(linesOf(stderr)).toHaveLength(1);
  }
  expect(await locksOn(first)).toEqual([]);
  await proxy.stop();
});

test('a replica as one of three: 78, and the command does not run', async () => {
  const [first, second] = masters as [TestMaster, TestMaster];
  const [replica] = (await startMasters(1, { transport: 'tcp' })) as [TestMaster];
  await replica.command('replicaof', '127.0.0.1', new URL(first.url).port);
  await second.freeze();
  const urls = [second.url, first.url, replica.url];
  const env = { REDLOCK_MASTERS: urls.join(','), REDLOCK_RESTART_GRACE: '0' };
  const { code, stdout, stderr } = await runCli(['name', '--', 'echo', 'never'], { env });
  expect([code, stdout], stderr).toEqual([78, '']);
  expect(stderr).toMatch(/is a replica: .*\n$/);
  expect(await locksOn(first)).toEqual([]);
  await replica.stop();
});

test('a cluster node that owns all slots, as one of three: 78 at once, with its kind', async () => {
  const [first, second] = masters as [TestMaster, TestMaster];
  const config = { 'cluster-enabled': 'yes' };
  const [node] = (await startMasters(1, { transport: 'tcp', config })) as [TestMaster];
  const slots = Array.from({ length: 16_384 }, (_, slot) => slot);
  await node.command('cluster', 'addslots', ...slots);
  await second.freeze();
  const env = {
    REDLOCK_MASTERS: [first.url, second.url, node.url].join(','),
    REDLOCK_RESTART_GRACE: '0',
  };
  const { code, stdout, stderr } = await runCli(['name', '--', 'echo', 'never'], { env });
  expect([code, stdout], stderr).toEqual([78, '']);
  expect(linesOf(stderr)).toEqual([
    expect.stringMatching(
      /^redlock-run: masters: redis:\S+: is a node of a cluster: .*\(list servers with cluster-ena/,
    ),
  ]);
  expect(await locksOn(first)).toEqual([]);
  await node.stop();
});

test('a master that refuses INFO and ROLE votes, and -v says what cannot be seen', async () => {
  const user = ['default', 'on', 'nopass', '~*', '&*', '+@all', '-info', '-role'];
  const [silent] = (await startMasters(1, { config: { user } })) as [TestMaster];
  const env = { REDLOCK_MASTERS: silent.url };
  const quiet = await runCli(['name', '--', 'echo', 'ran'], { env });
  expect(quiet).toMatchObject({ code: 0, stdout: 'ran\n', stderr: '' });
  const { code, stderr } = await runCli(['-v', 'name', '--', 'true'], { env });
  expect([code, linesOf(stderr).filter((line) => /warning/.test(line))]).toEqual([
    0,
    [
      expect.stringMatching(
        /^redlock-run: warning: unix:\S+: refuses INFO or ROLE: .*\(grant both/,
      ),
    ],
  ]);
  await silent.stop();
});

test('a master that becomes a replica during a run loses its vote, not the run', async () => {
  const [first] = masters as [TestMaster, TestMaster];
  const set = (await startMasters(3, { transport: 'tcp' })) as TestMaster[];
  const env = { REDLOCK_MASTERS: set.map(({ url }) => url).join(','), REDLOCK_RESTART_GRACE: '0' };
  const args = [
    '-v',
    '--ttl',
    '4s',
    '-k',
    '200ms',
    'name',
    '--',
    'sh',
    '-c',
    'echo on; sleep 5; echo end',
  ];
  const run = startCli(args, { env });
  await eventually('it runs', () => run.stdout.includes('on'));
  await set[0]?.command('replicaof', '127.0.0.1', new URL(first.url).port);
  const { code, stdout, stderr } = await run.result;
  expect([code, stdout], stderr).toEqual([0, 'on\nend\n']);
  expect(stderr).toMatch(/warning: redis:\S+: (READONLY|has become a replica)/);
  await Promise.all(set.map((master) => master.stop()));
});

/** Holds a lock on these masters until our set is on each, if all are up; resolves with stderr. */
async function holdOn(set: readonly TestMaster[], more: Record<string, string> = {}) {
  const areUp = set.every(({ isRunning }) => isRunning);
  if (areUp) await forgetSet(set);
  const urls = set.map(({ url }) => url).join(',');
  // A busy machine delays the release, and a late one is reported: these masters wait for the disk
  // at each change.
  const patient = { REDLOCK_RESTART_GRACE: '30s', REDLOCK_MASTER_TIMEOUT: '2s' };
  const env = { REDLOCK_MASTERS: urls, ...patient, ...more };
  const args = ['--ttl', '20s', '-k', '200ms', 'name', '--', ...obedient()];
  const job = startCli(args, { env });
  // It warns before it records its own set.
  if (areUp)
    await eventually('its set is on each', async () => !(await usersOf(set)).includes(null));
  else await eventually('it runs', () => job.stdout !== '');
  job.signal('SIGTERM');
  const { signal, stderr } = await job.result;
  expect(signal).toBe('SIGTERM');
  return stderr;
}

test('a set by which two hosts could hold one lock is warned about, and no other', async () => {
  const set = (await startMasters(5, { persist: true, transport: 'tcp' })) as TestMaster[];
  const [a, b, c, d, e] = set as [TestMaster, TestMaster, TestMaster, TestMaster, TestMaster];
  for (const master of set) await master.markLongAgo('redlock:');
  expect(await holdOn([a, b, c])).toBe('');
  await recordSet([a, b, c], 'web1');
  const warning = (difference: string) =>
    new RegExp(
      "^redlock-run: warning: this host's masters could grant a lock beside web1's: it " +
        `${difference} \\(give all hosts the same masters, or change one at a time\\)\\n$`,
    );
  const others = [d.url, e.url].sort().join(', ');
  expect(await holdOn([a, d, e])).toMatch(
    warning(`has 2 other masters and does not have ${others}`),
  );
  await forgetSet([a, d, e]);
  expect(await holdOn(set)).toMatch(warning(`does not have ${others}`));
  await forgetSet(set);
  expect(await holdOn([a, b, c, d])).toBe('');
  expect(await holdOn([c, a, b])).toBe('');
  const renamed = [a, b, c].map(({ url }) => url.replace('127.0.0.1', 'localhost'));
  expect(await holdOn([a, b, c], { REDLOCK_MASTERS: renamed.join(',') })).toBe('');

  await recordSet([a, b, c], 'web1');
  const env = { REDLOCK_RESTART_GRACE: '30s', REDLOCK_MASTERS: [a, d, e].map(urlOf).join(',') };
  const run = (reaction: string, ...flags: string[]) =>
    runCli([...flags, 'name', '--', 'echo', 'ran'], {
      env: { ...env, REDLOCK_DIFFERING_MASTERS: reaction },
    });
  const refused = await run('error');
  expect(refused).toMatchObject({ code: 78, stdout: '' });
  expect(refused.stderr).toMatch(/^redlock-run: masters: \S+: this host's masters could .* web1's/);
  expect(await run('ignore')).toMatchObject({ code: 0, stdout: 'ran\n', stderr: '' });
  expect((await run('warn', '--no-history')).stderr).toMatch(/ web1's: /);
  expect(await usersOf([a, d, e])).toEqual([null, null, null]);

  await e.kill();
  expect(await holdOn([a, d, e])).toBe('');
  await Promise.all(set.map((master) => master.stop()));
});

function urlOf({ url }: TestMaster): string {
  return url;
}
