// What a minority of masters, or their other users, can do to a run: its exit code and its stderr.
// And many runs on a machine without processor time: the masters are healthy, so no run may report
// that they are not.

import { type ChildProcess, spawn } from 'node:child_process';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { untilNothingIsLeft, useMasters } from '../cli/rig.ts';
import { bulk, grant, startHostile, toScripts } from '../servers/hostile-master.ts';

// On TCP, where a slow server reads also the release of a client that has ended.
const { masters, run } = useMasters(3, { transport: 'tcp' });

/** Busy loops that compete for every core. */
function crowd(count: number): ChildProcess[] {
  return Array.from({ length: count }, () =>
    spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }),
  );
}

test('40 runs with -n at once beside busy loops: no master counts as silent', async () => {
  const busy = crowd(12);
  try {
    const job = ['-n', '--ttl', '30s', 'storm', '--', 'sleep', '0.1'];
    const results = await Promise.all(
      Array.from({ length: 40 }, () => run(job, { timeoutMs: 170_000 })),
    );
    const told = results
      .filter(({ code }) => code !== 0 && code !== 75)
      .map(({ code, stderr }) => `${code}: ${stderr}`);
    expect(told).toEqual([]);
    expect(results.some(({ code }) => code === 0)).toBe(true);
  } finally {
    for (const one of busy) one.kill('SIGKILL');
  }
  await untilNothingIsLeft(masters);
});

test.each([
  ['nil', '$-1\r\n'],
  ['a number', ':7\r\n'],
  ['a fence beyond counting', grant('9000000000000000000')],
  ['an escape sequence', bulk('\u001b]0;PWNED\u0007')],
])(
  'one master of three grants, and then answers %s: the command runs, without a message',
  async (_, reply) => {
    const hostile = await startHostile(toScripts((_words, nth) => (nth === 0 ? grant() : reply)));
    const urls = [hostile.url, ...masters.slice(0, 2).map(({ url }) => url)].join(',');
    const job = ['--ttl', '3s', '-k', '200ms', 'job', '-c', 'sleep 2.5; echo done; exit 7'];
    const { code, stdout, stderr } = await run(job, { env: { REDLOCK_MASTERS: urls } });
    expect([code, stdout, stderr]).toEqual([7, 'done\n', '']);
  },
);

test('masters that close each connection: one line of error', async () => {
  const closer = createServer((socket) => socket.on('error', () => {}).destroy());
  await new Promise<void>((resolve) => closer.listen(0, '127.0.0.1', resolve));
  const { port } = closer.address() as AddressInfo;
  const urls = [port, port, port]
    .map((one, index) => `redis://127.0.0.${index + 1}:${one}`)
    .join(',');
  const { code, stderr } = await run(['-q', '-w', '3s', 'x', '--', 'true'], {
    env: { REDLOCK_MASTERS: urls },
  });
  expect(stderr).toMatch(/^redlock-run: no quorum: "x": [^\n]*connection [^\n]*\n$/);
  expect(code).toBe(69);
  closer.close();
});

test('a foreign value of 60 MB means held by someone else: 75', async () => {
  for (const master of masters) {
    await master.command('set', 'redlock:big', 'x'.repeat(50), 'px', 600_000);
    await master.command('setrange', 'redlock:big', 60_000_000, 'x');
  }
  const { code, stderr } = await run(['-n', '--ttl', '10m', 'big', '--', 'true'], {
    env: { REDLOCK_MASTER_TIMEOUT: '1m' },
  });
  expect(stderr).toMatch(
    /^redlock-run: busy: "big": held by another program \(value x{40}\.\.\.\); lease ends in /,
  );
  expect(code).toBe(75);
});

test('an empty foreign value means held by someone else: 75', async () => {
  for (const master of masters) await master.command('set', 'redlock:empty', '', 'px', 60_000);
  const { code, stderr } = await run(['-n', 'empty', '--', 'true']);
  expect(stderr).toMatch(
    /^redlock-run: busy: "empty": held by another program \(an empty value\); lease ends in /,
  );
  expect(code).toBe(75);
});
