// The packed library, installed into an empty folder: imported, compiled against, and checked by
// publint and attw. attw brings an older compiler, as many programs use.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Packed, pack } from '../servers/packed.ts';
import { generous } from '../servers/patience.ts';
import { Consumer, modules } from './consumer.ts';
import { isOnEach, takeBy, untilNothingIsLeft, useMasters } from './rig.ts';

const { masters } = useMasters(3);
let packed: Packed;
let consumer: Consumer;

beforeAll(async () => {
  packed = await pack();
  consumer = await Consumer.of(packed);
}, generous(40_000));

/** Runs a module with the URLs of the masters as its arguments. */
const program = (text: string, name?: string) =>
  consumer.run(
    text,
    masters.map(({ url }) => url),
    name,
  );

const start = `
  import { Redlock } from 'redlock-run';
  const redlock = new Redlock(process.argv.slice(2), { restartGraceMs: 0 });
`;

test('is imported by its name, and a program that has closed it ends by itself', async () => {
  const { stdout, stderr } = await program(`${start}
    const lease = await redlock.acquire('job', 60_000, { keepAlive: true });
    console.log(await redlock.using('other', 5_000, () => 'ran'), lease.validMs > 50_000);
    await lease.release();
    await redlock.close();
  `);
  expect({ stdout, stderr }).toEqual({ stdout: 'ran true\n', stderr: '' });
  await untilNothingIsLeft(masters);
});

test.skipIf(!process.features.require_module)(
  'is required by CommonJS as well, where Node can',
  async () => {
    const text = `
    const { Redlock, RedlockError } = require('redlock-run');
    const redlock = new Redlock(process.argv.slice(2), { restartGraceMs: 0 });
    const routine = () => console.log('ran', typeof RedlockError);
    redlock.using('job', 5_000, routine).finally(() => redlock.close());
  `;
    expect((await program(text, 'program.cjs')).stdout).toBe('ran function\n');
  },
);

test('has no other exports, and no default', async () => {
  const { stdout } = await program(`console.log(Object.keys(await import('redlock-run')).join());`);
  expect(stdout).toBe('Redlock,RedlockError\n');
  await expect(program(`await import('redlock-run/dist/main.js');`)).rejects.toThrow(
    /ERR_PACKAGE_PATH_NOT_EXPORTED/,
  );
});

test('no unhandled rejections: lost locks, ended waits, masters that are down', async () => {
  await takeBy('them', masters, 'held', 300_000);
  const { stdout, stderr } = await program(`${start}
    const lease = await redlock.acquire('job', 5_000, { keepAlive: true });
    const gone = new Redlock(['redis://127.0.0.1:1', 'redis://127.0.0.1:2', 'redis://127.0.0.1:3']);
    redlock.acquire('held', 1_000).catch(({ kind }) => console.log(kind));
    const giving = gone.acquire('job', 1_000, { giveUpAfterMs: 200 })
      .catch(({ kind }) => console.log(kind));
    const { createRequire } = await import('node:module');
    const Redis = createRequire(${JSON.stringify(modules)})('ioredis');
    const clients = process.argv.slice(2).map((url) => new Redis(url.slice('unix://'.length)));
    await Promise.all(clients.map((client) => client.del('redlock:job')));
    const { signal } = lease;
    if (!signal.aborted) await new Promise((lost) => signal.addEventListener('abort', lost));
    console.log(lease.signal.reason.reason);
    for (const client of clients) client.disconnect();
    await giving;
    await Promise.all([redlock.close(), gone.close()]);
  `);
  expect(stdout.trim().split('\n').sort()).toEqual(['aborted', 'expired', 'unreachable']);
  expect(stderr).toBe('');
  for (const master of masters) await master.flush();
});

test('a process that ends while it holds a lock leaves it to expire', async () => {
  await program(`${start}
    await redlock.acquire('job', 1_500);
    process.exit();
  `);
  await isOnEach(masters, 'job');
  await untilNothingIsLeft(masters);
});

describe('types', () => {
  test('are those of the interface, and of nothing behind it', () => {
    const folder = join(consumer.folder, 'node_modules/redlock-run/dist/library/types');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(files.filter((name) => name.endsWith('.d.ts')).sort()).toEqual([
      'index.d.ts',
      ...['error', 'lease', 'options', 'redlock'].map((name) => `library/${name}.d.ts`),
      ...['ports', 'types'].map((name) => `lock/${name}.d.ts`),
    ]);
  });

  test('compile: for a program without ioredis, and for clients of it, old and new', async () => {
    const [plain, clients = ''] = await consumer.complaintsAbout(
      `
        import { Redlock, RedlockError, type Lease, type LockEvent } from 'redlock-run';
        const onEvent = (event: LockEvent, resource: string) => {};
        const redlock = new Redlock(['redis://10.0.0.1'], { onEvent });
        await using lease: Lease = await redlock.acquire('job', 1_000, { retries: { count: 3 } });
        const routine = async (signal: AbortSignal) => signal.aborted ? 'a' : 'b';
        const text: string = await redlock.using('job', 1_000, routine);
        const kind = (error: unknown) =>
          error instanceof RedlockError && error.kind === 'busy' ? error.holder : text;
      `,
      `
        import { Redis } from 'ioredis';
        import { Redis as Redis5 } from 'ioredis-5';
        import { Redlock } from 'redlock-run';
        new Redlock([new Redis(), new Redis5({ keyPrefix: 'a' }), 'rediss://10.0.0.1']);
        new Redlock([new URL('redis://10.0.0.1')]);
        await new Redlock([new Redis()]).acquire(['a', 1], 1_000);
      `,
    );
    expect(plain).toBe('');
    // Two mistakes in the program, and none in the types.
    expect(clients.match(/^\S+\(\d+/gm)).toEqual(['program-1.mts(6', 'program-1.mts(7']);
  });

  test('import no package, so a program needs none to compile', () => {
    const files = packed.files.filter((file) => file.endsWith('.d.ts'));
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) {
      const text = readFileSync(join(consumer.folder, 'node_modules', 'redlock-run', file), 'utf8');
      expect([...text.matchAll(/from '([^.][^']*)'/g)].map(([line]) => line)).toEqual([]);
    }
  });
});

test('publint reports nothing', async () => {
  const pkgDir = join(consumer.folder, 'node_modules', 'redlock-run');
  const { messages, pkg } = await publint({
    pkgDir,
    level: 'suggestion',
    strict: true,
    pack: false,
  });
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
});

test('attw reports nothing about it as an ES module', async () => {
  const analysis = await checkPackage(
    createPackageFromTarballData(new Uint8Array(readFileSync(packed.tarball))),
  );
  if (!analysis.types) throw new Error('no types');
  // The profile "esm-only" leaves these out: Node without exports, and CommonJS that cannot require
  // ES modules.
  const others = ['node10', 'node16-cjs'];
  const ours = analysis.problems.filter(
    (problem) => !('resolutionKind' in problem && others.includes(problem.resolutionKind)),
  );
  expect(ours).toEqual([]);
  expect(Object.keys(analysis.entrypoints)).toContain('.');
  for (const kind of ['node16-esm', 'bundler'] as const) {
    expect(analysis.entrypoints['.']?.resolutions[kind].resolution?.fileName).toMatch(
      /index\.d\.ts$/,
    );
  }
});
