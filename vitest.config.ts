import { defineConfig } from 'vitest/config';

// One project a suite; test/README.md says which question each answers. The suites that start servers and programs run
// one file at a time: two cores shared by five masters and a few dozen Node programs are slow enough already.
const suite = (name: string, options: object = {}) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout: 30_000, hookTimeout: 30_000, ...options },
});

/** Minutes, not seconds: only when it is asked for by name, as `npm test -- --project long`. */
const long = process.argv.includes('long') ? [suite('long', { testTimeout: 300_000 })] : [];

export default defineConfig({
  test: {
    projects: [
      suite('unit'),
      suite('redis'),
      suite('sim', { alias: { ioredis: `${import.meta.dirname}/test/sim/sim-ioredis.ts` } }),
      suite('interop', { testTimeout: 60_000 }),
      suite('cli', { testTimeout: 60_000 }),
      suite('supervision', { testTimeout: 60_000 }),
      ...long,
    ],
    maxWorkers: 2,
  },
});
