// Masters behind TLS: certificates are always verified. A certificate, a login or a database that
// is refused exits 78 with a message, because no retry would help.

import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startMasters } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { pemFile } from '../servers/pem.ts';
import { eventually } from '../servers/processes.ts';
import { tlsFront } from '../servers/tls.ts';
import { type CliResult, fileWith, type RunOptions, type TestMaster, useMasters } from './rig.ts';

const { masters, run, start } = useMasters(1);

interface Scene {
  /** Below `tls:`, one a line. */
  readonly tls?: readonly string[];
  readonly host?: string;
  /** The version of TLS in which the server asks for a client certificate. */
  readonly requiredVersion?: 'TLSv1.2' | 'TLSv1.3';
  readonly options?: RunOptions;
}

/** Runs `true`, or other words, on one master behind TLS. */
async function runOver(scene: Scene, args = ['name', '--', 'true']): Promise<CliResult> {
  const { tls = [`caFile: ${pemFile('ca.pem')}`], host = 'localhost' } = scene;
  const port = await tlsFront((masters[0]?.url ?? '').replace('unix://', ''), scene);
  const lines = [
    `masters: ["rediss://${host}:${port}"]`,
    ...(tls.length > 0 ? ['tls:', ...tls.map((line) => `  ${line}`)] : []),
  ];
  const env = { REDLOCK_MASTERS: undefined, ...scene.options?.env };
  return run(['--config', fileWith(`${lines.join('\n')}\n`), '-w', '3s', ...args], {
    ...scene.options,
    env,
  });
}

const client = (key: string) => [
  `caFile: ${pemFile('ca.pem')}`,
  `certFile: ${pemFile('client.pem')}`,
  `keyFile: ${pemFile(key)}`,
];

test('a server certificate by caFile and a client certificate are accepted', async () => {
  const scene = { requiredVersion: 'TLSv1.2', tls: client('client.key') } as const;
  expect(await runOver(scene)).toMatchObject({ code: 0, stderr: '' });
});

test('certificates by variables are used for masters of a list, and checked', async () => {
  const port = await tlsFront((masters[0]?.url ?? '').replace('unix://', ''), {
    requiredVersion: 'TLSv1.3',
  });
  const over = (variables: Record<string, string>) =>
    run(['name', '--', 'true'], {
      env: { REDLOCK_MASTERS: `rediss://127.0.0.1:${port}`, ...variables },
    });
  const all = {
    REDLOCK_CA_FILE: pemFile('ca.pem'),
    REDLOCK_CERT_FILE: pemFile('client.pem'),
    REDLOCK_KEY_FILE: pemFile('client.key'),
    REDLOCK_SERVERNAME: 'localhost',
  };
  expect(await over(all)).toMatchObject({ code: 0, stderr: '' });
  expect(await over({ ...all, REDLOCK_SERVERNAME: 'elsewhere' })).toMatchObject({
    code: 78,
    stderr: expect.stringMatching(/certificate is not trusted: .*elsewhere/),
  });
  expect(await over({ ...all, REDLOCK_KEY_FILE: pemFile('server.key') })).toMatchObject({
    code: 78,
    stderr: expect.stringMatching(/^redlock-run: REDLOCK_KEY_FILE: .*does not belong to certFile/),
  });
});

test.each<[string, Scene, RegExp]>([
  [
    'no client certificate',
    { requiredVersion: 'TLSv1.2' },
    /TLS is refused: .*\(set tls\.certFile/,
  ],
  [
    'no client certificate, which TLS 1.3 reports late',
    { requiredVersion: 'TLSv1.3' },
    /TLS is refused: .*\(set tls\.certFile/,
  ],
])('%s: 78 at once, one line', async (_, scene, why) => {
  const { code, stderr, elapsedMs } = await runOver(scene);
  expect([code, stderr]).toEqual([78, expect.stringMatching(why)]);
  expect(stderr).toMatch(/^redlock-run: [^\n]+\n$/);
  expect(elapsedMs).toBeLessThan(generous(10_000));
});

test('the host is the server name of both connections, by which a router chooses', async () => {
  const names: (string | false)[] = [];
  const path = (masters[0]?.url ?? '').replace('unix://', '');
  const port = await tlsFront(path, { names, isRouter: true });
  const running = start(['name', '--', 'cat'], {
    stdin: 'pipe',
    env: { REDLOCK_MASTERS: `rediss://localhost:${port}`, REDLOCK_CA_FILE: pemFile('ca.pem') },
  });
  await eventually('it listens', () => names.length === 2 || running.hasEnded);
  running.child.stdin?.end();
  expect(await running.result).toMatchObject({ code: 0, stderr: '' });
  expect(names).toEqual(['localhost', 'localhost']);
});

test('no variable of Node turns verification off; the command gets it', async () => {
  const variables = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const refused = await runOver({ tls: [], options: { env: variables } });
  expect(refused).toMatchObject({
    code: 78,
    stderr: expect.stringMatching(/^redlock-run: .*not trusted: .*\(set tls\.caFile.*\n$/),
  });
  const args = ['name', '--', 'printenv', 'NODE_TLS_REJECT_UNAUTHORIZED'];
  expect(await runOver({ options: { env: variables } }, args)).toMatchObject({
    code: 0,
    stdout: '0\n',
    stderr: '',
  });
  const extra = await runOver({
    tls: [`caFile: ${pemFile('other.pem')}`],
    options: { env: { NODE_EXTRA_CA_CERTS: pemFile('ca.pem') } },
  });
  expect(extra).toMatchObject({ code: 78, stderr: expect.stringContaining('is not trusted') });
});

test('a database that does not exist: 78, with advice', async () => {
  const url = `${masters[0]?.url}?db=99`;
  const { code, stderr } = await run(['--master', url, 'name', '--', 'true']);
  expect([code, stderr]).toEqual([
    78,
    expect.stringMatching(/DB index is out of range \(.*database.*\)\n$/),
  ]);
});

test('redis:// to a port that speaks TLS: 78', async () => {
  const alert = Buffer.from('15030100020246', 'hex');
  const server = createServer((socket) =>
    socket.on('error', () => {}).on('data', () => socket.write(alert)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, stderr } = await run(['--master', url, 'name', '--', 'true']);
  expect([code, stderr]).toEqual([
    78,
    expect.stringContaining(`${url}: speaks TLS (write rediss://)\n`),
  ]);
});

test('rediss:// to real servers without TLS: 78 with the reason, also with -n', async () => {
  const plain = (await startMasters(3, { transport: 'tcp' })) as TestMaster[];
  const urls = plain.map(({ url }) => url.replace('redis:', 'rediss:'));
  const env = { REDLOCK_MASTERS: urls.join(','), REDLOCK_RESTART_GRACE: '0' };
  for (const flags of [['-n'], []]) {
    const { code, stderr } = await run([...flags, 'name', '--', 'true'], { env });
    expect(code, stderr).toBe(78);
    // A quorum of refusals decides; the third may come later.
    const named = urls.filter((url) =>
      stderr.includes(`${url}: does not speak TLS (write redis://)`),
    );
    expect(named.length, stderr).toBeGreaterThanOrEqual(2);
  }
  for (const master of plain) expect(await master.keys()).toEqual([]);
  await Promise.all(plain.map((master) => master.stop()));
});

test('a password for which a server does not ask is told, of a minority by -v', async () => {
  const config = { requirepass: 's3cret' };
  const [open, other] = (await startMasters(2, { transport: 'tcp' })) as [TestMaster, TestMaster];
  const closed = (await startMasters(2, { transport: 'tcp', config })) as TestMaster[];
  const on = (those: readonly TestMaster[]) => {
    const urls = those.map(({ url }) => url.replace('redis://', 'redis://:s3cret@'));
    return { env: { REDLOCK_MASTERS: urls.join(','), REDLOCK_RESTART_GRACE: '0' } };
  };
  const { code, stderr } = await run(
    ['name', '--', 'true'],
    on([open, other, ...closed.slice(0, 1)]),
  );
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^redlock-run: warning: redis:\S+, redis:\S+: asked for no password, .*\(set requirepass.*\n$/,
  );
  expect(stderr).not.toContain('s3cret');
  expect(await run(['name', '--', 'true'], on([open, ...closed]))).toMatchObject({
    code: 0,
    stderr: '',
  });
  const told = await run(['-v', 'name', '--', 'true'], on([open, ...closed]));
  const shown = open.url.replace('redis://', 'redis://***@');
  expect(told.stderr).toContain(`warning: ${shown}: asked for no password`);
  await Promise.all([open, other, ...closed].map((master) => master.stop()));
});
