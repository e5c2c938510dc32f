import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { measurePatience } from './scripts/patience.js';
import { keepCertificates } from './test/servers/certificates.ts';
import { generous } from './test/servers/patience.ts';
import { shareCache } from './test/servers/shared-cache.ts';

measurePatience();
shareCache();
keepCertificates();

/** The suites that test src/ itself. The others start the programs in dist/. */
const ofSource = ['unit', 'sim', 'mutants'];
/** Those that install packages. */
const fromRegistries = ['interop', 'packages'];

// test/README.md says which question each suite answers. Most are a project of vitest each.
const suite = (name: string, options: object = {}) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    globalSetup: ofSource.includes(name) ? [] : ['test/servers/built.ts'],
    setupFiles: [
      'test/servers/clean-environment.ts',
      'test/no-warnings.ts',
      ...('isolate' in options && name !== 'unit' ? ['test/servers/fresh-modules.ts'] : []),
      ...(fromRegistries.includes(name) ? ['test/servers/registries.ts'] : []),
    ],
    testTimeout: generous(30_000),
    expect: { poll: { timeout: generous(10_000) } },
    hookTimeout: generous(30_000),
    ...options,
  },
});

const filesOf = (names: readonly string[]) => names.map((files) => `test/${files}.test.ts`);

/** They take minutes: only when asked for by name, `npm test -- --project long`. */
const named = ['long', 'crowd', 'interop', 'packages', 'torture'].filter((name) =>
  process.argv.includes(name),
);
/**
 * Files that take a quarter of a minute each, mostly by waiting, install the package or play a page
 * of docs/: with `--project slow`, as CI does.
 */
const slowFiles = filesOf([
  'cli/{coming-from,contention,forms,keep-alive,keys,nested,notify,package,report,rotation}',
  'cli/{sentinel,server-states}',
  'ctl/{freeze,hold,lists,operations,page-outputs,past-check}',
  'library/{examples,hostile,package,peers}',
  'supervision/quiet',
  'pictures/*', // A story of a quarter of a minute.
]);

/**
 * Several times the cores of a small machine: most tests wait for something most of the time. The
 * long ones less so. While ten thousand processes end, the kernel may let others wait.
 */
function workerCount(): number {
  if (named.includes('crowd')) return 1;
  if (named.includes('long')) return 3;
  return named.some((name) => name !== 'interop') ? 2 : 5;
}

const isSlow = process.argv.includes('slow');
/** Real programs under locks of a few seconds, on machines that may be crowded. */
const onRealTime = { testTimeout: generous(60_000) };

/** Needs no server; its files have few modules. */
const ofGuard = { isolate: false, exclude: ['test/guard/mutants.test.ts'] };
const guard = suite('guard', ofGuard);
/** The same with a guard that ends at every error of memory, and its mutants. */
const slowOfGuard = [
  suite('guard-sanitized', {
    ...ofGuard,
    include: ['test/guard/**/*.test.ts'],
    env: { TEST_GUARD: 'sanitized' },
    testTimeout: generous(60_000),
  }),
  suite('guard-mutants', {
    include: ['test/guard/mutants.test.ts'],
    testTimeout: generous(60_000),
  }),
];

/** Files of a suite share processes, whose start takes more than most files do. */
const inOneProcess = { isolate: false };

/** Files that share processes. */
const shared = { ...inOneProcess, ...onRealTime };
/** The suites of real servers and programs. */
const real = ['cli', 'ctl', 'library', 'redis', 'supervision'];
/**
 * Modules are transformed once a project, and a process is kept for files of its project. So these
 * suites are one project, unless some are asked for by name.
 */
const suitesOfReal = process.argv.some((word) => word.startsWith('--project'))
  ? real.map((name) => suite(name, { ...shared, exclude: slowFiles }))
  : [suite('real', { ...shared, include: filesOf([`{${real}}/**/*`]), exclude: slowFiles })];
/** In the simulator ioredis speaks to simulated servers. */
const simulated = { alias: { ioredis: `${import.meta.dirname}/test/sim/sim-ioredis.ts` } };
/** What computes for minutes: with `--project mutants`, as CI does. */
const computing = ['test/sim/{hostile,*mutants*}.test.ts', 'test/sim/explore/*.test.ts'];

/** What another Node could change in the built program. */
const byNode = ['cli/{arguments,exit-code,secrets,signals,streams,surroundings,tls}'];
/** What a runtime with timers, sockets and processes of its own could change besides. */
const byRuntime = [...byNode, 'cli/{history,keep-alive,loss}'];

/** How often the processes wake up, and what they read of /proc: each runtime has its own way. */
const supervised = ['supervision/hidden-proc', 'supervision/quiet'];

/**
 * The suites of the built programs on the executable that has both in one file (`npm run
 * build:standalone`): all of them, or those that its runtime could change.
 */
const onExecutable = { ...shared, env: { REDLOCK_RUN_PROGRAM: 'dist/redlock-run' } };
const standalone = suite('standalone', {
  ...onExecutable,
  include: ['test/cli/**/*.test.ts', 'test/ctl/**/*.test.ts', ...filesOf(supervised)],
  exclude: ['test/cli/package.test.ts'],
});
const executable = suite('executable', {
  ...onExecutable,
  include: filesOf([...byRuntime, 'ctl/{completion,hold,output,top}', ...supervised]),
});

/**
 * The core of the suites, on each server that REDIS_SERVERS names: `npm test -- --project servers`.
 */
const servers = suite('servers', {
  ...shared,
  include: filesOf([
    'redis/{access,connections,fence,forms,identity,lost,master}',
    'redis/{queue,replies,scripts,server-kinds}',
    'cli/{exit-code,forms,history,keep-alive,membership,rotation,sentinel,server-states}',
    'ctl/{acl,doctor,states,steps}',
  ]),
});

/** The built program on a newer Node. */
const nodes = suite('nodes', { ...shared, include: filesOf(byNode) });

/**
 * What takes longest by itself begins first, so that the rest is played beside it. Files that share
 * processes come last and together: a process is kept only for the next file of its project.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      if (/\/(long|interop)\/|sim\.test/.test(moduleId)) return 0;
      return project.config.isolate ? 1 : 2;
    };
    const sorted = await super.sort(files);
    return sorted.sort(
      (one, other) => rank(one) - rank(other) || one.project.name.localeCompare(other.project.name),
    );
  }
}

export default defineConfig({
  test: {
    projects: [
      suite('unit', inOneProcess),
      suite('sim', { ...simulated, exclude: computing }),
      guard,
      ...suitesOfReal,
      ...(isSlow ? [suite('slow', { ...shared, include: slowFiles })] : []),
      ...slowOfGuard.filter(({ test }) => process.argv.includes(test.name)),
      ...(process.argv.includes('standalone') ? [standalone] : []),
      ...(process.argv.includes('executable') ? [executable] : []),
      ...(process.argv.includes('mutants')
        ? [
            suite('mutants', {
              ...simulated,
              include: computing,
              globalSetup: ['test/sim/built-mutants.ts'],
              testTimeout: generous(300_000),
            }),
          ]
        : []),
      ...(process.argv.includes('servers') ? [servers] : []),
      ...(process.argv.includes('nodes') ? [nodes] : []),
      ...named.map((name) => suite(name, { ...onRealTime, testTimeout: generous(300_000) })),
    ],
    sequence: { sequencer: LongestFirst },
    maxWorkers: workerCount(),
  },
});
