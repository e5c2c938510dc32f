// The tests that `npm run mutations` runs on each mutation of the pure core (test/mutations.json).

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['test/unit/{lock,run}/**/*.test.ts'], isolate: false, testTimeout: 60_000 },
});
