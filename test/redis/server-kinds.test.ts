// The kinds of servers that people have, as real processes: each is told from what it answers, and
// its vote counts as docs/masters.md says.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseIdentity, ServerRegistry } from '../../src/redis/identity.ts';
import { kindOfFacts } from '../../src/redis/server-kinds.ts';
import { bulk, grant, info, list, startHostile, toScripts } from '../servers/hostile-master.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { isKeyDb } from '../servers/program.ts';
import { startSentinels, stopSentinels } from '../servers/sentinels.ts';
import { acquireAt, advised, failed, handleOn, lasting, newClaim, redlockOn } from './rig.ts';

afterAll(async () => {
  await stopSentinels();
  await stopAll();
  nothingLeft();
});

async function start(config: Record<string, string | string[]> = {}): Promise<TestMaster> {
  const [master] = await startMasters(1, { transport: 'tcp', config });
  return master as TestMaster;
}

const active = { 'multi-master': 'yes', 'active-replica': 'yes' };

const portOf = ({ url }: TestMaster) => new URL(url).port;

async function replicaOf(primary: TestMaster): Promise<TestMaster> {
  const replica = await start({ 'repl-diskless-sync-delay': '0' });
  await replica.command('replicaof', '127.0.0.1', portOf(primary));
  await eventually(
    'synchronised',
    async () =>
      String(await replica.command('info', 'replication')).includes('master_link_status:up'),
    20_000,
  );
  return replica;
}

describe('a kind that can never vote', () => {
  const clustered = { 'cluster-enabled': 'yes' };
  const asCluster = advised('misconfigured', /^is a node of a cluster: /, /cluster-enabled no$/);

  test.each([
    ['no slots', null],
    ['some slots', '0-100'],
    ['all slots', '0-16383'],
  ])('a node of a cluster that owns %s', async (_, slots) => {
    const node = await start(clustered);
    if (slots !== null) {
      const [first, last] = slots.split('-').map(Number) as [number, number];
      const all = Array.from({ length: last - first + 1 }, (__, index) => first + index);
      await node.command('cluster', 'addslots', ...all);
    }
    expect(await acquireAt(node)).toEqual(asCluster);
    expect(await handleOn(node).identify()).toEqual(asCluster);
  });

  test('a node of a cluster that does not say so, told by its refusal', async () => {
    const user = ['default', 'on', 'nopass', '~*', '&*', '+@all', '-info', '-role'];
    expect(await acquireAt(await start({ ...clustered, user }))).toEqual(asCluster);
  });

  test('a sentinel', async () => {
    const primary = await start();
    await replicaOf(primary);
    const { ports } = await startSentinels(primary, 1);
    expect(await acquireAt(`redis://127.0.0.1:${ports[0]}`)).toEqual(
      advised('misconfigured', /^is a sentinel /, /^write redis\+sentinel:\/\/HOST:PORT\/NAME/),
    );
  });

  test('two servers that replicate into each other', async () => {
    const [one, two] = [await start(), await start()];
    await one.command('replicaof', '127.0.0.1', portOf(two));
    await two.command('replicaof', '127.0.0.1', portOf(one));
    for (const master of [one, two])
      expect(await acquireAt(master)).toEqual(failed('misconfigured', /^is a replica/));
  });

  // What KeyDB 6.3.4 answers to ROLE with active-replica yes.
  const peer = ['active-replica', '127.0.0.1', 6380, 'connected', 14];
  const asPeer = advised(
    'misconfigured',
    /^replicates with other writable servers: /,
    /active-replica no$/,
  );

  test.each([
    ['one other', peer],
    ['two others', [peer, peer]],
  ])('an active replica of KeyDB, with %s, as it says it is', (_, role) => {
    const identity = parseIdentity('run_id:abc\r\nredis_mode:standalone\r\n', role, 0, null);
    expect(new ServerRegistry().admit('m', identity)).toEqual(asPeer);
  });

  test.runIf(isKeyDb)('active replicas of KeyDB, of one and of two others', async () => {
    const peers = [await start(active), await start(active), await start(active)];
    const link = (one: TestMaster, other: TestMaster) =>
      one.command('replicaof', '127.0.0.1', portOf(other));
    const [one, two, three] = peers as [TestMaster, TestMaster, TestMaster];
    await link(one, two);
    expect(await acquireAt(one)).toEqual(asPeer);
    await link(one, three);
    expect(await acquireAt(one)).toEqual(asPeer);
  });
});

describe('a kind that is told before its vote counts', () => {
  // What redlock-run knows of it is from the documentation.
  test('an Active-Active database of Redis Enterprise, told before its vote counts', async () => {
    const server = info({ rlec_version: '7.4.2-54' });
    const crdt = bulk('# CRDT Context\r\ncrdt_config_version:1\r\ncrdt_slots:0-16383\r\n');
    const database = await startHostile((words, socket) => {
      if (words[0] === 'info') return words[1] === 'crdt' ? crdt : server;
      return toScripts(() => grant())(words, socket);
    });
    expect(await acquireAt(database)).toEqual(
      advised('misconfigured', /^is an Active-Active database: /, /written to in one place$/),
    );
  });

  test.each([
    ['another database of Redis Enterprise', { rlec_version: '7.4.2-54' }, true],
    ['a server of another kind, which is not asked', {}, false],
  ])('%s: a vote', async (_, fields, isAsked) => {
    const database = await startHostile((words, socket) => {
      if (words[0] === 'info') return words[1] === 'crdt' ? bulk('') : info(fields);
      return toScripts(() => grant())(words, socket);
    });
    expect(await acquireAt(database)).toMatchObject({ kind: 'granted' });
    expect(database.commands.some((words) => words[1] === 'crdt')).toBe(isAsked);
  });

  test.each([
    ['eval', 'EVAL'],
    ['a command in a script', 'SET'],
  ])('without %s', async (_, command) => {
    const master = await start({ 'rename-command': [command, ''] });
    const handle = handleOn(master);
    const refused = advised('misconfigured', /^does not run scripts, /, /^enable EVAL: /);
    expect(await handle.acquire(newClaim(), lasting)).toEqual(refused);
    expect(handle.rejection).toEqual(refused);
  });

  test.each([
    ['Redis and Valkey 7.2', 'redis_mode:standalone', null],
    ['Valkey 8', 'server_mode:standalone', null],
    ['a cluster of Valkey 8', 'server_mode:cluster', 'a node of a cluster'],
    ['a sentinel of Valkey 9', 'server_mode:sentinel', 'a sentinel'],
  ])('%s', (_, line, kind) => {
    const identity = parseIdentity(
      `valkey_version:8.0.1\r\n${line}\r\n`,
      ['master', 0, []],
      0,
      null,
    );
    expect(kindOfFacts(identity)?.name ?? null).toBe(kind);
  });
});

describe('a vote that is lost for now, with the reason', () => {
  test('a script of another program that runs for too long', async () => {
    const master = await start({ 'lua-time-limit': '1' });
    const endless = acquireAt(master).then(() =>
      master.command('eval', 'while true do end', 0).catch(() => null),
    );
    const busy = await eventually('busy', async () => {
      const reply = await acquireAt(master);
      return reply.kind === 'failed' && reply.cause === 'reply' && reply;
    });
    expect(busy).toEqual(advised('reply', /^BUSY /, /a script of another program .*SCRIPT KILL/));
    await master.kill();
    await endless;
  });

  test('it cannot save', async () => {
    const master = await start({ save: ['3600', '1'], dbfilename: 'x' });
    await master.command('config', 'set', 'rdbcompression', 'no');
    await master.command('set', 'k', 'v');
    mkdirSync(join(master.directory, 'x'));
    await master.command('bgsave');
    const handle = handleOn(master);
    let count = 0;
    const refused = await eventually('MISCONF', async () => {
      count += 1;
      const reply = await handle.acquire(newClaim({ resources: [`r${count}`] }), lasting);
      return reply.kind === 'failed' && reply;
    });
    expect(refused).toEqual(advised('reply', /^MISCONF /, /^see its log and its disk/));
  });

  // KeyDB lets scripts write all the same.
  test.skipIf(isKeyDb)('too few replicas', async () => {
    const master = await start({ 'min-replicas-to-write': '1' });
    expect(await acquireAt(master)).toEqual(
      advised('reply', /^NOREPLICAS /, /min-replicas-to-write/),
    );
  });

  test('no room for another client', async () => {
    const master = await start({ maxclients: '1' });
    await master.command('ping');
    // The server closes the connection in the same moment, and may do so first.
    const told = advised('connection', /^ERR max number of clients /, /^raise its maxclients$/);
    await eventually('the reason', async () => {
      const reply = await acquireAt(master);
      return reply.kind === 'failed' && /^ERR max/.test(reply.message) && reply;
    }).then((reply) => expect(reply).toEqual(told));
  });

  test('demoted: the vote is lost, not the run; promoted again it votes', async () => {
    const [primary, other] = [await start(), await start()];
    const handle = handleOn(primary);
    const claim = newClaim();
    expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
    await primary.command('replicaof', '127.0.0.1', portOf(other));
    const lost = await handle.extend(claim, null, lasting);
    expect(lost).toEqual(advised('reply', /^READONLY /, /^it has become a replica/));
    await eventually('told by the server itself', async () => {
      const reply = await handle.extend(claim, null, lasting);
      return reply.kind === 'failed' && /^has become a replica: /.test(reply.message);
    });
    expect(handle.rejection).toBeNull();
    await primary.command('replicaof', 'no', 'one');
    await eventually('votes again', async () => {
      const reply = await handle.acquire(newClaim({ resources: ['s'] }), lasting);
      return reply.kind === 'granted';
    });
  });
});

test('a replica that is promoted votes, also if no request had been refused by it', async () => {
  const [primary, other] = [await start(), await start()];
  const handle = handleOn(primary);
  expect(await handle.identify()).toBeNull();
  await primary.command('replicaof', '127.0.0.1', portOf(other));
  await primary.command('client', 'kill', 'type', 'normal', 'skipme', 'yes');
  await eventually('told by the server itself', async () => {
    // Its key is gone, so that nothing is written.
    const reply = await handle.extend(newClaim(), null, lasting);
    return reply.kind === 'failed' && /^has become a replica: /.test(reply.message);
  });
  await primary.command('replicaof', 'no', 'one');
  await eventually('votes again', async () => {
    const reply = await handle.acquire(newClaim({ resources: ['s'] }), lasting);
    return reply.kind === 'granted';
  });
});

describe('a promoted replica', () => {
  test('does not count until the grace is over, for all clients, and once only', async () => {
    const primary = await start();
    const replica = await replicaOf(primary);
    const mark = '{p:}:mark';
    await primary.markLongAgo('p:');
    await eventually('replicated', () => replica.command('hget', mark, 'id'));
    await replica.command('replicaof', 'no', 'one');
    // It looks as if it had forgotten nothing.
    expect(await replica.command('hget', mark, 'id')).toBe(
      await primary.command('hget', mark, 'id'),
    );
    const settings = { restartGraceMs: 2_000, prefix: 'p:' };
    await eventually('it has run for longer than the grace', async () => {
      const info = String(await replica.command('info', 'server'));
      return Number(/uptime_in_seconds:(\d+)/.exec(info)?.[1]) > 3;
    });
    const claims = [newClaim(), newClaim()];
    expect(await handleOn(replica, settings).acquire(claims[0] as never, lasting)).toEqual(
      failed(
        'restarted',
        /^was promoted [01] s ago and may have forgotten .*: counts again within 2 s$/,
      ),
    );
    expect(await replica.keys()).toContain('{p:}:promotion');
    const startedAt = performance.now();
    const { redlock } = redlockOn([replica], settings);
    await eventually(
      'it counts',
      async () =>
        (await redlock.attempt(newClaim({ resources: ['t'] }), lasting)).kind === 'acquired',
    );
    expect(performance.now() - startedAt).toBeGreaterThan(1_000);
    // Another program, long after: the promotion is known.
    const later = handleOn(replica, { ...settings, prefix: 'p:' });
    expect(await later.acquire(newClaim({ resources: ['s'] }), lasting)).toMatchObject({
      kind: 'granted',
    });
    // A primary that has replicas and was never one counts at once.
    const votes = handleOn(primary, settings).acquire(newClaim(), lasting);
    expect(await votes).toMatchObject({ kind: 'granted' });
  });

  test('asked about its promotion while it is busy: asked again', async () => {
    const busy = '-BUSY Redis is busy running a script.\r\n';
    let answer = busy;
    const replica = await startHostile((words, socket) => {
      if (words[0] === 'ROLE') return list(bulk('master'), ':5\r\n', list());
      if (words[0] === 'info') return words[1] === 'replication' ? answer : info({});
      const isSeen = ({ 3: key }: readonly string[]) => key?.endsWith(':promotion');
      return toScripts((call) => (isSeen(call) ? ':0\r\n' : grant()))(words, socket);
    });
    const handle = handleOn(replica, { restartGraceMs: 2_000 });
    expect(await handle.acquire(newClaim(), lasting)).toEqual(failed('reply', /^BUSY /));
    const ids = ['master_replid', 'master_replid2'].map((field) => `${field}:${'a'.repeat(40)}`);
    answer = bulk(ids.join('\r\n'));
    const reply = await handle.acquire(newClaim(), lasting);
    expect(reply).toEqual(failed('restarted', /^was promoted [01] s ago /));
  });

  test('another server at the same address, which was started long ago', async () => {
    const registry = new ServerRegistry();
    const seen = (runId: string, startedAt: number, repliedAt: number) =>
      registry.admit('m', {
        ...parseIdentity(null, ['master', 0, []], repliedAt, null),
        runId,
        startedAt,
      });
    expect([seen('a', 0, 1_000), registry.changedAt('m')]).toEqual([null, null]);
    expect([seen('b', 1_500, 2_000), registry.changedAt('m')]).toEqual([null, null]);
    expect([seen('c', 500, 3_000), registry.changedAt('m')]).toEqual([null, 3_000]);
  });
});
