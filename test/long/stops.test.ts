// A job in two steps, as `sh -c 'a; b'` runs it, is told to stop again and again: the stop signal
// reaches the step that runs each time, so that no SIGKILL is needed.

import { expect, it } from 'vitest';
import { sharedMasters, startJob } from '../supervision/rig.ts';

const step = 'echo ready; sleep 300';
const forms = [
  ['sh', ['sh', '-c', `sh -c '${step}'; :`]],
  ['perl', ['perl', '-e', `system("${step}"); 1`]],
] as const;
const cases = forms.flatMap(([title, command]) =>
  ['--no-foreground', '--foreground'].map((flag) => [title, flag, command] as const),
);

it.each(cases)('25 stops of two steps by %s, %s', async (_, flag, command) => {
  const masters = await sharedMasters();
  // A grace that even a slow machine does not use up.
  const stop = async () => {
    const job = startJob(masters, command, { flags: ['--ttl', '90s', '-k', '20s', flag] });
    await job.run.says('stdout', /ready/, 20_000);
    job.run.signal('SIGTERM');
    const { signal, stderr } = await job.run.result;
    expect([signal, stderr]).toEqual(['SIGTERM', expect.not.stringContaining('SIGKILL')]);
  };
  for (let count = 0; count < 5; count += 1) await Promise.all(Array.from({ length: 5 }, stop));
});
