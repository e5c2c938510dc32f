// Real masters for a test file: starts some, stops all, and checks that none is left. There are no
// mocks and no fixed ports, so files may run side by side. A test process that is killed leaves
// nothing either (watchdog.ts).

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type MasterOptions, TestMaster } from './master.ts';
import { serverProgram } from './program.ts';
import { scratchFolder } from './watchdog.ts';

export type { MasterOptions, TestMaster };

const started: TestMaster[] = [];
let count = 0;

/**
 * So many empty masters m1, m2, ... that answer. Fails when this machine has no server program:
 * `npm test` installs one.
 */
export async function startMasters(
  howMany: number,
  options: MasterOptions = {},
): Promise<TestMaster[]> {
  const program = await serverProgram();
  return Promise.all(
    Array.from({ length: howMany }, async (_, index) => {
      count += 1;
      const master = await TestMaster.start(
        `m${index + 1}`,
        join(scratchFolder(), String(count)),
        program,
        options,
      );
      started.push(master);
      return master;
    }),
  );
}

/** Closes the connections of all clients but our own to the masters that run. For afterEach. */
export async function closeConnections(): Promise<void> {
  const awake = started.filter((master) => master.isRunning && !master.isFrozen);
  await Promise.all(awake.map((master) => master.command('client', 'kill', 'type', 'normal')));
}

/** Stops every master that this file started. For afterAll. */
export async function stopAll(): Promise<void> {
  await Promise.all(started.map((master) => master.stop()));
}

/**
 * Asserts that every master of this file has ended and its folder is removed. For afterAll, after
 * stopAll.
 */
export function nothingLeft(): void {
  for (const master of started) {
    assert.deepEqual([...master.pids], [], `${master.name} is still running`);
    assert.ok(!existsSync(master.directory), `${master.directory} is still there`);
  }
}
