// A job in two steps, as `sh -c 'a; b'` runs it, is told to stop again and again: the stop signal
// reaches the step that runs each time, so that no SIGKILL is needed.
// `STOPS=500 npm test -- --project long test/long/stops` plays five hundred of each.

import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { sharedMasters, startJob } from '../supervision/rig.ts';

const stopCount = Number(process.env.STOPS ?? 10);
const atATime = 5;
const timeout = generous(30_000) + stopCount * generous(1_000);
const hasPython = spawnSync('python3', ['-c', '']).status === 0;
const step = 'echo ready; sleep 300';
const forms = [
  ['sh', ['sh', '-c', `sh -c '${step}'; :`], true],
  ['perl', ['perl', '-e', `system("${step}"); 1`], true],
  [
    'python',
    ['python3', '-c', `import subprocess; subprocess.call(["sh", "-c", "${step}"])`],
    hasPython,
  ],
] as const;

describe.each(forms)('two steps by %s', (_, command, isHere) => {
  it.skipIf(!isHere).each(['--no-foreground', '--foreground'])(
    `${stopCount} stops, %s`,
    { timeout },
    async (flag) => {
      const masters = await sharedMasters();
      // A grace that even a slow machine does not use up.
      const stop = async () => {
        const job = startJob(masters, command, { flags: ['--ttl', '90s', '-k', '20s', flag] });
        await job.run.says('stdout', /ready/, 20_000);
        job.run.signal('SIGTERM');
        const { signal, stderr } = await job.run.result;
        expect([signal, stderr]).toEqual(['SIGTERM', expect.not.stringContaining('SIGKILL')]);
        await job.cleanUp();
      };
      for (let count = 0; count < stopCount; count += atATime)
        await Promise.all(Array.from({ length: atATime }, stop));
    },
  );
});
