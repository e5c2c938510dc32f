// Connections that end badly, again and again: each is closed once, so that nothing is left of it
// but the reason. The warnings of Node that a leak of listeners causes fail every test: see
// test/no-warnings.ts.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { clock, failed, handleOn, lasting, newClaim, redlockOn } from './rig.ts';

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/** Far more than the ten listeners after which Node warns. */
const attemptCount = 40;

async function attempts(url: string, masterTimeoutMs = 1_000): Promise<unknown[]> {
  const { redlock } = redlockOn([url], { masterTimeoutMs });
  const kinds: unknown[] = [];
  for (let nth = 0; nth < attemptCount; nth += 1) {
    const attempt = await redlock.attempt(newClaim(), lasting);
    kinds.push(attempt.kind === 'unreachable' ? attempt.failures[0]?.failed.message : attempt.kind);
  }
  await redlock.settled();
  return kinds;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function oneMaster(config: Record<string, string> = {}): Promise<TestMaster> {
  const [master] = await startMasters(1, { config });
  return master as TestMaster;
}

test('the questions of a new connection are sent once, with the request, unanswered', async () => {
  const [master] = (await startMasters(1, { persist: true, transport: 'tcp' })) as [TestMaster];
  await master.markLongAgo('');
  const { hostname: host, port } = new URL(master.url);
  let sent = '';
  const wordsIn = (text: string) =>
    [...text.matchAll(/\r\n(info|role|eval)\r\n/gi)].map(([, word]) => word?.toLowerCase());
  // Passes on what comes first only when all of it is there, so no answer comes before.
  const first = ['info', 'role', 'eval', 'eval'];
  const server = createServer((socket) => {
    const onward = connect(Number(port), host);
    for (const one of [socket, onward]) one.on('error', () => {});
    onward.pipe(socket);
    onward.cork();
    socket.on('data', (chunk) => {
      onward.write(chunk);
      sent += chunk;
      if (wordsIn(sent).length >= first.length) onward.uncork();
    });
  });
  const handle = handleOn(await listening(server), { restartGraceMs: 3_600_000 });
  const claim = newClaim();
  expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
  expect(await handle.extend(claim, null, lasting)).toMatchObject({ kind: 'extended' });
  expect(await handle.release(claim, 0, null)).toMatchObject({ kind: 'released' });
  // Then the extension and the release, and whether it fsyncs every change.
  expect(wordsIn(sent)).toEqual([...first, 'info', 'eval', 'eval']);
  handle.close();
  server.close();
  await master.stop();
});

test('a server that closes each connection', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).destroy());
  const messages = new Set(await attempts(await listening(server)));
  expect([...messages]).toSatisfy((all: string[]) =>
    all.every((one) => /^connection (closed|reset)$/.test(one)),
  );
  server.close();
});

test('one that closes it when it is asked', async () => {
  const server = createServer((socket) =>
    socket.on('error', () => {}).once('data', () => socket.end()),
  );
  expect(new Set(await attempts(await listening(server)))).toEqual(new Set(['connection closed']));
  server.close();
});

test('one that says why it closes it', async () => {
  for (const [why, told] of [
    ['ERR max number of clients reached', 'ERR max number of clients reached'],
    [
      'DENIED Redis is running in protected mode.',
      'DENIED: its protected mode refuses clients of other machines',
    ],
  ]) {
    const server = createServer((socket) => socket.on('error', () => {}).end(`-${why}\r\n`));
    expect(await attempts(await listening(server))).toContain(told);
    server.close();
  }
});

test('a frozen master', async () => {
  const master = await oneMaster();
  const { redlock, masters } = redlockOn([master], { masterTimeoutMs: 50 });
  await masters[0]?.identify();
  master.freeze();
  for (let nth = 0; nth < attemptCount; nth += 1) await redlock.attempt(newClaim(), lasting);
  master.thaw();
  await redlock.settled();
});

test('a TLS port, spoken to in the clear', async () => {
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(scratchFolder(), name)) as [
    string,
    string,
  ];
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ed25519',
    '-nodes',
    '-subj',
    '/CN=localhost',
    '-keyout',
    key,
    '-out',
    cert,
  ];
  execFileSync('openssl', args, { stdio: 'ignore' });
  const open = new Set<Socket>();
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) });
  server.on('tlsClientError', () => {});
  server.on('connection', (socket) => open.add(socket));
  for (const message of await attempts(await listening(server)))
    expect(message).toMatch(/^[ -~]{5,100}$/);
  for (const socket of open) socket.destroy();
  server.close();
});

test('a wrong password', async () => {
  const master = await oneMaster({ requirepass: 'right' });
  const url = master.url.replace('unix://', 'unix://:wrong@');
  for (const message of await attempts(url)) expect(message).toMatch(/^WRONGPASS/);
  const refused = await eventually('refused', async () => {
    const vote = await handleOn(url).acquire(newClaim(), lasting);
    return vote.kind === 'failed' && vote.cause === 'denied' && vote;
  });
  expect(refused).toEqual(failed('denied', /^WRONGPASS/));
});

test('what was never sent to a master that is down is not released when it is back', async () => {
  const master = await oneMaster();
  const handle = handleOn(master);
  await master.kill();
  for (let nth = 0; nth < attemptCount; nth += 1) {
    const claim = newClaim();
    const [vote, reply] = await Promise.all([
      handle.acquire(claim, lasting),
      handle.rollback(claim),
    ]);
    expect([vote.kind, reply.kind]).toEqual(['failed', 'failed']);
  }
  await master.restart();
  expect(await handle.acquire(newClaim(), lasting)).toMatchObject({ kind: 'granted' });
  const stats = String(await master.command('info', 'commandstats'));
  expect(Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1])).toBeLessThan(5);
});

test('a master that is closed is not dialled again, whatever it still owes', async () => {
  const master = await oneMaster();
  const handle = handleOn(master);
  const claim = newClaim();
  expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
  master.freeze();
  const releasing = handle.release(claim, 0, null);
  handle.close();
  expect(await releasing).toMatchObject({ kind: 'failed' });
  expect(await handle.acquire(newClaim(), lasting)).toMatchObject({ kind: 'failed' });
  master.thaw();
  await eventually('no connection is left but this one', async () => {
    const info = String(await master.command('info', 'clients'));
    return /connected_clients:1\b/.test(info);
  });
});

test.each([
  ['what can still stand there', 0, false, 0],
  ['no release of a key whose time was over long ago', 100_000, false, 1],
  ['the release of a key that has been extended since', 100_000, true, 0],
])('a master that comes back is owed %s', async (_, aheadMs, isExtended, leftCount) => {
  const [master] = (await startMasters(1, { persist: true })) as [TestMaster];
  let isAhead = false;
  const now = () => clock.now() + (isAhead ? aheadMs : 0);
  const handle = handleOn(master, { by: { now, sleep: clock.sleep.bind(clock) } });
  const claim = newClaim({ resources: ['kept'] });
  expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
  isAhead = true;
  if (isExtended)
    expect(await handle.extend(claim, null, lasting)).toMatchObject({ kind: 'extended' });
  await master.kill();
  expect(await handle.release(claim, 0, null)).toMatchObject({ kind: 'failed' });
  await master.restart();
  const next = newClaim({ resources: ['next'] });
  expect(await handle.acquire(next, lasting)).toMatchObject({ kind: 'granted' });
  expect(await master.command('exists', 'kept')).toBe(leftCount);
});
