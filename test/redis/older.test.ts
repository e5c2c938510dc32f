// Server in the older protocol on a real server: the same contract as on simulated ones
// (test/sim/contract.test.ts).

import { afterAll, beforeAll } from 'vitest';
import { olderContract } from '../contract/older.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { redisWorld } from './world.ts';

let master: TestMaster;
beforeAll(async () => {
  [master] = (await startMasters(1)) as [TestMaster];
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

olderContract('Server on a unix socket', (protocol) => redisWorld(() => master, protocol));
