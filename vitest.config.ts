import { defineConfig } from 'vitest/config';
import { measurePatience } from './scripts/patience.js';
import { generous } from './test/servers/patience.ts';

measurePatience();

// One project a suite; test/README.md says which question each answers. The suites that start
// servers and programs run one file at a time: two cores shared by five masters and a few dozen
// Node programs are slow enough already.
const suite = (name: string, options: object = {}) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    setupFiles: ['test/servers/clean-environment.ts', 'test/no-warnings.ts'],
    testTimeout: generous(30_000),
    expect: { poll: { timeout: generous(10_000) } },
    hookTimeout: generous(30_000),
    ...options,
  },
});

/** They take minutes: only when asked for by name, `npm test -- --project long`. */
const named = ['long', 'crowd', 'interop', 'packages'].filter((name) =>
  process.argv.includes(name),
);
/**
 * Files that take a quarter of a minute each, mostly by waiting: with `--project slow`, as CI does.
 */
const slowFiles = [
  'cli/{coming-from,contention,forms,keep-alive,nested,notify,report,rotation,sentinel}',
  'cli/server-states',
  'ctl/{freeze,hold,past-check}',
  'library/{examples,peers}',
].map((files) => `test/${files}.test.ts`);
const isSlow = process.argv.includes('slow');
/** Real programs under locks of a few seconds, on machines that may be crowded. */
const onRealTime = { testTimeout: generous(60_000) };

/** Scripts with short names, as they ship. */
const shortScripts = { './lua-file.ts': `${import.meta.dirname}/test/servers/short-lua-file.ts` };
/** In the simulator ioredis speaks to simulated servers. */
const simulated = { alias: { ioredis: `${import.meta.dirname}/test/sim/sim-ioredis.ts` } };
/** What computes for minutes: with `--project mutants`, as CI does. */
const computing = ['test/sim/*mutants*.test.ts', 'test/sim/explore/*.test.ts'];

/**
 * The suites of the built programs on the executable that has both in one file (`npm run
 * build:standalone`).
 */
const standalone = {
  test: {
    ...suite('cli', onRealTime).test,
    name: 'standalone',
    include: ['test/cli/**/*.test.ts', 'test/ctl/**/*.test.ts'],
    exclude: ['test/cli/package.test.ts'],
    env: { REDLOCK_RUN_PROGRAM: 'dist/redlock-run' },
  },
};

/**
 * The core of the suites, on each server that REDIS_SERVERS names: `npm test -- --project servers`.
 */
const servers = suite('servers', {
  ...onRealTime,
  include: [
    'redis/{access,connections,fence,forms,identity,lost,master}',
    'redis/{queue,replies,scripts,server-kinds}',
    'cli/{exit-code,forms,history,keep-alive,membership,rotation,sentinel,server-states}',
    'ctl/{acl,doctor,states,steps}',
  ].map((files) => `test/${files}.test.ts`),
});

/**
 * What a newer Node could change in the built program: arguments, streams, signals, sockets, TLS,
 * processes, the installed package.
 */
const nodes = suite('nodes', {
  ...onRealTime,
  include: [
    'cli/{arguments,contention,exit-code,history,keep-alive,loss,nested,package}',
    'cli/{secrets,signals,streams,surroundings,tls}',
  ].map((files) => `test/${files}.test.ts`),
});

export default defineConfig({
  test: {
    projects: [
      suite('unit'),
      suite('redis', { alias: shortScripts }),
      suite('sim', { ...simulated, exclude: computing }),
      suite('library', { ...onRealTime, exclude: slowFiles }),
      suite('cli', { ...onRealTime, exclude: slowFiles }),
      ...(isSlow ? [suite('slow', { ...onRealTime, include: slowFiles })] : []),
      suite('supervision', onRealTime),
      suite('ctl', { ...onRealTime, exclude: slowFiles }),
      ...(process.argv.includes('standalone') ? [standalone] : []),
      ...(process.argv.includes('mutants')
        ? [
            suite('mutants', {
              ...simulated,
              include: computing,
              testTimeout: generous(300_000),
            }),
          ]
        : []),
      ...(process.argv.includes('servers') ? [servers] : []),
      ...(process.argv.includes('nodes') ? [nodes] : []),
      ...named.map((name) => suite(name, { ...onRealTime, testTimeout: generous(300_000) })),
    ],
    // More than twice the cores of a small machine: most tests wait for something most of the time.
    // The long ones do not. While ten thousand processes end, the kernel may let others wait.
    maxWorkers: named.includes('crowd') ? 1 : named.some((name) => name !== 'interop') ? 2 : 5,
  },
});
