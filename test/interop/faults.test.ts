// Locks that are none, and a check of implementations.test.ts that finds each out.

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { checks } from './checks.ts';
import { ofFolder } from './implementations.js';
import { pathOfAdapter, type Subject } from './install.ts';
import { Rig } from './rig.ts';
import type { Plan } from './section.ts';

let masters: TestMaster[] = [];
let rig: Rig | undefined;
beforeAll(async () => {
  masters = await startMasters(3, { transport: 'tcp' });
});
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});
afterAll(stopAll);

const flawed = (flaw: string): Subject => ({
  implementation: ofFolder(flaw),
  args: [process.execPath, pathOfAdapter('flawed.js'), flaw],
});
/** Long inside, so that what is inside at the same time is seen. */
const short: Plan = {
  shares: { theirs: 20, program: 3, library: 10 },
  workMs: 100,
  limitMs: 6_000,
};

test.each([
  ['never-asks', 'a section that it shares', /^expected { overlaps: [1-9]/],
  ['overwrites', 'a section that it shares', /^expected { overlaps: [1-9]/],
  ['never-acquires', 'a section that it shares', /deeply equal \[\]/],
  ['never-releases', 'theirs releases', /code: 75/],
  ['overwrites', 'the program holds', /expected true to be false/],
  ['never-asks', 'the library holds', /expected true to be false/],
  ['releases-any', 'the program holds', /toEqual|deeply equal/],
  ['releases-any', 'theirs is frozen', /deeply equal/],
  ['leaves-keys', 'its failed attempt', /not within .* its keys are gone/],
  ['never-asks', 'one of three masters', /expected/],
])('%s: by "%s..."', async (flaw, beginning, message) => {
  const check = checks.find(({ title }) => title.startsWith(beginning));
  rig = new Rig(flawed(flaw), masters);
  await expect(check?.run(rig, short)).rejects.toThrow(message);
});

test('and the same program without a fault passes all checks', async () => {
  for (const { run, applies } of checks) {
    const subject = flawed('none');
    if (applies?.(subject.implementation) === false) continue;
    rig = new Rig(subject, masters);
    await run(rig, { ...short, limitMs: 60_000 });
    await rig.close();
  }
});
