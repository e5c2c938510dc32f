// The promise on a full machine: sixteen busy processes on two cores, and a job of a thousand
// processes. No process outlives the key: see Job.outcome. One at a time.

import { expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { type Job, measure, ownMasters, startJob } from '../supervision/rig.ts';

const stay = 'echo ready; while :; do sleep 600; done';
const busy = `for i in $(seq 16); do (trap "" TERM; while :; do :; done) & done; ${stay}`;
const many = `for i in $(seq 1000); do sleep 600 & done; trap "" TERM; ${stay}`;

const jobs = [
  ['sixteen busy processes', busy],
  ['a thousand processes', many],
] as const;

const events: readonly (readonly [string, (job: Job) => void, 'ends' | 'frozen'])[] = [
  ['SIGKILL', (job) => job.run.signal('SIGKILL'), 'ends'],
  ['SIGSTOP for ever', (job) => job.run.signal('SIGSTOP'), 'frozen'],
  ['SIGTERM', (job) => job.run.signal('SIGTERM'), 'ends'],
];

const cases = jobs.flatMap(([title, script]) =>
  events.map(([event, happens, state]) => ({ title, script, event, happens, state })),
);

it.each(cases)(
  '$title, $event',
  { timeout: generous(120_000) },
  async ({ title, script, event, happens, state }) => {
    const flags = ['--ttl', '8s', '-k', '1s'];
    const job = await startJob(await ownMasters(), ['bash', '-c', script], {
      flags,
      timeoutMs: 60_000,
    }).ready();
    job.happens();
    happens(job);
    const outcome = await job.outcome(state);
    measure(`${title}, ${event}`, outcome);
    if (event !== 'SIGSTOP for ever') expect(outcome.signal).toBe(event);
  },
);
