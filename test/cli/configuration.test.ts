// Bad input for the built program, of each kind that it reads: one clear line and the right code at
// once, and no connection is made where the answer does not need the masters. unit/config has all
// the mistakes.

import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { fileWith } from './rig.ts';

/** A server in the place of all masters that counts its connections. */
let watched: Server;
let url: string;
let visitCount = 0;
beforeAll(async () => {
  watched = createServer((socket) => {
    visitCount += 1;
    socket.destroy();
  });
  const path = join(mkdtempSync(join(scratchFolder(), 'watched-')), 's');
  await new Promise<void>((resolve) => watched.listen(path, resolve));
  url = `unix://${path}`;
});
afterAll(() => watched.close());

const job = ['name', '--', 'true'];
const oneLine = /^redlock-run: [^\n]{1,400} \([^\n]+\)\n$|not valid YAML: [^\n]+\n$/;

test('mistakes: one line with the advice, the right code, no connection', async () => {
  const env = { REDLOCK_MASTERS: url };
  const without = { REDLOCK_MASTERS: undefined };
  const rows: [number, RegExp, string[], Record<string, string | undefined>?][] = [
    [64, /--ttl: "30 potatoes": not a duration/, ['--ttl', '30 potatoes', ...job]],
    [78, /REDLOCK_MASTERS: "redis:\/\/": no host/, job, { REDLOCK_MASTERS: 'redis://' }],
    [78, /masters: none configured .*\.redlockrc.*REDLOCK_MASTERS.*--local/, job, without],
    [78, /--config: \/dev\/zero: more than 1 MiB/, ['--config', '/dev/zero', ...job], without],
    [
      78,
      /REDLOCK_PASSWORD_FILE: .*more than 1 MiB/,
      job,
      { REDLOCK_MASTERS: url, REDLOCK_PASSWORD_FILE: '/dev/zero' },
    ],
    [78, /REDLOCK_CONFIG: "nowhere": no such file/, job, { ...without, REDLOCK_CONFIG: 'nowhere' }],
    [
      78,
      /redlockrc:2: tll: unknown key \(did you mean ttl\?\)/,
      ['--config', fileWith('\ntll: 3s\n'), ...job],
    ],
    [78, /redlockrc:2: /, ['--config', fileWith('masters:\n  - {'), ...job], without],
    [74, /--report: ".*\/none": no such directory/, ['--report', '/none/report', ...job]],
  ];
  const before = visitCount;
  const results = await Promise.all(
    rows.map(([, , args, more]) => runCli(args, { env: { ...env, ...more } })),
  );
  for (const [index, { code, stdout, stderr }] of results.entries()) {
    const [expected, why] = rows[index] as (typeof rows)[number];
    expect([code, stdout], stderr).toEqual([expected, '']);
    expect(stderr).toMatch(why);
    expect(stderr).toMatch(oneLine);
  }
  expect(visitCount).toBe(before);
});

test('--dry-run, --help and --version make no connection either', async () => {
  const env = { REDLOCK_MASTERS: url };
  const before = visitCount;
  const results = await Promise.all(
    [['--dry-run', ...job], ['--help'], ['-V']].map((args) => runCli(args, { env })),
  );
  expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(Array(3).fill([0, '']));
  expect(results.map(({ stdout }) => stdout)).toEqual([
    expect.stringMatching(/^name +"name"$/m),
    expect.stringMatching(/^Usage: redlock-run .*NAME/),
    expect.stringMatching(/^redlock-run \d+\.\d+\.\d+\n$/),
  ]);
  expect(visitCount).toBe(before);
  expect(await runCli(['-n', ...job], { env })).toMatchObject({ code: 69 });
  expect(visitCount).toBeGreaterThan(before);
});

test('files of the runtime in the working folder are not read', async () => {
  const folder = mkdtempSync(join(scratchFolder(), 'runtime-'));
  const proof = join(folder, 'proof');
  writeFileSync(join(folder, '.env'), 'REDLOCK_TTL=7s\n');
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./preload.js"]\n');
  const preload = `require('node:fs').writeFileSync(${JSON.stringify(proof)}, '');`;
  writeFileSync(join(folder, 'preload.js'), preload);
  const env = { REDLOCK_MASTERS: url };
  const { code, stdout } = await runCli(['--dry-run', '-v', ...job], { cwd: folder, env });
  expect([code, existsSync(proof)]).toEqual([0, false]);
  expect(stdout).toMatch(/^ttl +30s +default$/m);
});
