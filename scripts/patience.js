// @ts-check
// Measures how slow this machine is now. By this factor the tests wait longer for a state
// (test/servers/patience.ts).

import { spawnSync } from 'node:child_process';

/** What an empty Node program takes on a machine that does nothing else. */
const quietMs = 50;
/** Test files keep the cores busy themselves: eight at a time, each with servers and programs. */
const minFactor = 3;
const maxFactor = 10;

/**
 * Measured once for a run of the tests, and passed to its processes in TEST_PATIENCE. Returns the
 * factor, and what an empty Node program takes: null where it has been measured before.
 * @returns {{ factor: number, nodeMs: number | null }}
 */
export function measurePatience() {
  const known = Number(process.env.TEST_PATIENCE);
  if (known > 0) return { factor: known, nodeMs: null };
  const times = Array.from({ length: 5 }, () => {
    const startedAt = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    return performance.now() - startedAt;
  });
  const [, , median = 0] = times.sort((one, other) => one - other);
  const factor = Math.min(
    maxFactor,
    Math.max(minFactor, Math.ceil((minFactor * median) / quietMs)),
  );
  process.env.TEST_PATIENCE = String(factor);
  return { factor, nodeMs: Math.round(median) };
}
