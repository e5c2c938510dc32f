// What a user reads about a server in a state in which it cannot vote: one line that names the
// server and says what to do, whatever the state. The states themselves are tested in
// test/redis/server-kinds.test.ts, states of a connection in test/redis/hostile.test.ts.

import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { echo, startHostile, toScripts } from '../servers/hostile-master.ts';
import type { TestMaster } from '../servers/master.ts';
import { startMasters } from '../servers/masters.ts';
import { pemFile } from '../servers/pem.ts';
import { isKeyDb } from '../servers/program.ts';
import { startCli } from '../servers/run-cli.ts';
import { tlsFront } from '../servers/tls.ts';
import { environmentFor, useMasters } from './rig.ts';

const { masters, run } = useMasters(1);

type Config = Record<string, string | string[]>;

/** The address of a server with these settings, once `change` has brought it into its state. */
const server =
  (config: Config, change?: (one: TestMaster) => Promise<unknown>) => async (): Promise<string> => {
    const [one] = (await startMasters(1, { transport: 'tcp', config })) as [TestMaster];
    onTestFinished(() => one.stop());
    await change?.(one);
    return one.url;
  };

/** The address of a server that is none, and does this with each connection. */
const listener = (answer: (socket: Socket) => unknown) => async (): Promise<string> => {
  const one = createServer((socket) => {
    socket.on('error', () => {});
    answer(socket);
  });
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void one.close());
  return `redis://127.0.0.1:${(one.address() as AddressInfo).port}`;
};

const says = (text: string) => listener((socket) => socket.on('data', () => socket.write(text)));
const user = (...rules: string[]) => ['default', 'on', 'nopass', '~*', '&*', '+@all', ...rules];
const overTls = (host: string) => async () => {
  const path = (masters[0]?.url ?? '').replace('unix://', '');
  return `rediss://${host}:${await tlsFront(path)}`;
};
/** As Redis with a TLS port does it: it closes without a word. */
const plainToTls = listener((socket) => socket.on('data', () => socket.destroy()));

const behindSentinel = async () => {
  const named = '*2\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n';
  return `${(await says(named)()).replace('redis:', 'redis+sentinel:')}/m`;
};

/** As Redis does it: without being asked. */
const denied = '-DENIED Redis is running in protected mode because it has no password.\r\n';

type State = [number, string, () => Promise<string>];
const tooFewReplicas: State = [
  69,
  'has too few replicas',
  server({ 'min-replicas-to-write': '1' }),
];

test.each<State>([
  [69, 'is out of memory', server({ maxmemory: '1' })],
  // KeyDB lets scripts write all the same.
  ...(isKeyDb ? [] : [tooFewReplicas]),
  [78, 'wants a password', server({ requirepass: 'x' })],
  [78, 'does not let us use EVAL', server({ user: user('-eval') })],
  [78, 'does not let us use SET', server({ user: user('-set') })],
  [69, 'is a replica and does not say so', server({ user: user('-info', '-role') }, replicate)],
  [78, 'is a replica', server({}, replicate)],
  [78, 'is a node of a cluster', server({ 'cluster-enabled': 'yes' })],
  [78, 'has no EVAL', server({ 'rename-command': ['EVAL', ''] })],
  [78, 'has no SET', server({ 'rename-command': ['SET', ''] })],
  [78, 'has no such database', async () => `${await server({})()}/99`],
  [69, 'cannot save', server({ save: ['3600', '1'], dbfilename: 'x' }, failToSave)],
  [69, 'is frozen', server({}, (one) => one.freeze())],
  [69, 'is down', async () => 'redis://127.0.0.1:1'],
  [69, 'has no socket', async () => 'unix:///nowhere/redis.sock'],
  [69, 'cannot be found', async () => 'redis://no-such-host.invalid:6379'],
  [69, 'is silent', listener(() => {})],
  [69, 'closes', listener((socket) => socket.destroy())],
  [69, 'is behind TLS', plainToTls],
  [69, 'speaks HTTP', says('HTTP/1.1 400 Bad Request\r\n\r\n')],
  [69, 'speaks SSH', listener((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n'))],
  [69, 'says +OK to all', says('+OK\r\n+OK\r\n+OK\r\n')],
  [69, 'repeats all', async () => (await startHostile(echo)).url],
  [69, 'answers with two megabytes', says(`$9000000\r\n${'a'.repeat(2_000_000)}`)],
  [69, 'knows no command', async () => (await startHostile(() => '-ERR what?\r\n')).url],
  [78, 'is in protected mode', listener((socket) => socket.end(denied))],
  [78, 'has a certificate of an unknown authority', overTls('localhost')],
  [69, 'is a primary that is down, behind a sentinel', behindSentinel],
  [69, 'is a sentinel that is down', async () => 'redis+sentinel://127.0.0.1:1/m'],
])('%i, and what to do, where it %s', async (status, _, position) => {
  const url = await position();
  expect(await toldOf(url)).toEqual([status, expect.stringContaining(` ${url}: `)]);
});

test('78 where it refuses the size of what comes before the login', async () => {
  const refusal = '-ERR Protocol error: unauthenticated bulk length\r\n';
  const url = await listener((socket) => socket.once('data', () => socket.end(refusal)))();
  const told = expect.stringMatching(/unauthenticated bulk length \(set passwordFile\)\n$/);
  expect(await toldOf(url)).toEqual([78, told]);
});

test('69, and what to do, where it has restarted', async () => {
  const url = await server({})();
  const told = expect.stringMatching(`${url}: restarted \\d+ s ago`);
  expect(await toldOf(url, { REDLOCK_RESTART_GRACE: '1h' })).toEqual([69, told]);
});

test('78 where it closes before its refusal of the login is read', async () => {
  let count = 0;
  const refusal = '-NOAUTH Authentication required.\r\n';
  const url = await listener((socket) => {
    count += 1;
    const isFirst = count === 1;
    socket.on('data', () => (isFirst ? socket.destroy() : socket.write(refusal.repeat(3))));
  })();
  const told = expect.stringContaining(
    `${url}: NOAUTH Authentication required. (set passwordFile)`,
  );
  expect(await toldOf(url)).toEqual([78, told]);
});

/** The exit code of a run that tries once, and the one line that it writes, ending in an advice. */
async function toldOf(url: string, env = {}): Promise<[number | null, string]> {
  const words = ['--master', url, '--ttl', '9s', '-n', 'name', '--', 'true'];
  const { code, stderr } = await run(words, { env });
  expect(stderr).toMatch(/^redlock-run: [^\n]+ \([a-z][^\n]*\)\n$/);
  return [code, stderr];
}

test.each([
  [
    'another name',
    { REDLOCK_CA_FILE: pemFile('ca.pem'), REDLOCK_SERVERNAME: 'elsewhere' },
    /servername to/,
  ],
  ['another authority', { REDLOCK_CA_FILE: pemFile('other.pem') }, /\(set tls\.caFile\)$/],
])('a certificate of %s: the key that mends it', async (_, env, advice) => {
  const { stderr } = await run(['--master', await overTls('localhost')(), 'name', '--', 'true'], {
    env,
  });
  expect(stderr.trim()).toMatch(advice);
});

async function replicate(one: TestMaster): Promise<void> {
  await one.command('replicaof', '127.0.0.1', 1);
}

async function failToSave(one: TestMaster): Promise<void> {
  await one.command('set', 'k', 'v');
  mkdirSync(join(one.directory, 'x'));
  await one.command('bgsave');
  await expect.poll(() => one.command('info', 'persistence')).toContain('last_bgsave_status:err');
}

const tooMuch: Record<string, string> = {
  'the longest list, twenty times': '*33554431\r\n'.repeat(20),
  'a million items, a hundred times': '*1000000\r\n'.repeat(100),
  'nil of another kind, and the longest list': '_ab*33554431\r\n'.repeat(20),
};

test.each(Object.entries(tooMuch))(
  'beside two good masters %s changes nothing, in little memory',
  async (_, bytes) => {
    const good = await startMasters(2);
    onTestFinished(async () => void (await Promise.all(good.map((one) => one.stop()))));
    const small = { NODE_OPTIONS: '--max-old-space-size=100' };
    const toAll = await startHostile(() => bytes);
    const after = await startHostile(
      toScripts((_args, nth) => (nth === 0 ? '*2\r\n:1\r\n:5\r\n' : bytes)),
    );
    const sentinel = await listener((socket) => socket.on('data', () => socket.write(bytes)))();
    const lists = [
      [toAll, ...good],
      [after, ...good],
      [{ url: `${sentinel.replace('redis:', 'redis+sentinel:')}/m` }, ...good],
    ];
    const results = await Promise.all(
      lists.flatMap((masters, nth) => {
        const env = { ...environmentFor(masters), ...small };
        // Extended once, and given up after five seconds: six programs start beside each other.
        const times = ['--ttl', '6s', '-k', '200ms'];
        const hold = [...times, `job${nth}`, '--', 'sleep', '2.5'];
        return [
          startCli(hold, { env }).result,
          startCli(['status', 'free', '--json'], { env, program: 'redlockctl' }).result,
        ];
      }),
    );
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  },
);
