// What a run makes of the reports of a guard that started nothing: a script in place of the guard
// prints them.

import { chmodSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GuardedCommand } from '../../../src/run/guard-client.ts';
import type { ChildEvent } from '../../../src/run/ports.ts';
import { eventually } from '../../servers/processes.ts';
import { scratchFolder } from '../../servers/watchdog.ts';

const { ETIME, ENOENT, EACCES, ENOMEM, EMFILE, ENFILE } = os.constants.errno;
const noMemory = 'command: there is not enough memory to start it (try again)';
const fewFiles = 'command: open files: too few are allowed (raise the limit: ulimit -n)';

it.each([
  [`failed ${ETIME}`, { kind: 'never-started', reason: 'suspended' }],
  [`failed ${ENOENT}`, { kind: 'not-found' }],
  [`failed ${EACCES}`, { kind: 'not-executable', message: 'EACCES' }],
  [`failed ${ENOMEM}`, { kind: 'cannot-start', why: noMemory }],
  [`failed ${EMFILE}`, { kind: 'cannot-start', why: fewFiles }],
  [`failed ${ENFILE}`, { kind: 'cannot-start', why: fewFiles }],
  ['unable pipe: no', { kind: 'cannot-start', why: 'guard: pipe: no' }],
  ['hung-up', { kind: 'caller-gone' }],
])('a guard that reports %j', async (report, exit) => {
  expect(await eventsOf(report)).toEqual([
    { kind: 'exited', exit, leftCount: 0, agoMs: 0 },
    { kind: 'swept', unkillable: [] },
  ]);
});

// Without a number nothing is known, so it does not count as ended.
it.each(['unkillable', 'unkillable '])(
  'a guard that reports %j, without a number',
  async (report) => {
    const [, end, ...others] = await eventsOf('started 4194305', report);
    expect(end).toEqual({ kind: 'exited', exit: { kind: 'unknown-exit' }, leftCount: 0, agoMs: 0 });
    expect(others).toMatchObject([{ kind: 'swept', unkillable: [{ pid: 4194305 }] }]);
  },
);

async function eventsOf(...reports: readonly string[]): Promise<readonly ChildEvent[]> {
  const file = join(scratchFolder(), `guard-${reports.join().replace(/\W/g, '-')}`);
  const lines = reports.map((report) => `echo '${report}' >&5\n`);
  writeFileSync(file, `#!/bin/sh\n${lines.join('')}`);
  chmodSync(file, 0o755);
  const plan = {
    file,
    command: ['true'],
    environment: process.env,
    isForeground: false,
    isIsolated: false,
    needsCaller: false,
    stopSignal: 'SIGTERM',
    graceMs: 1_000,
    marginMs: 1_000,
  } as const;
  const events: ChildEvent[] = [];
  const isSwept = () => events.at(-1)?.kind === 'swept';
  const child = new GuardedCommand(
    plan,
    () => [10_000, 20_000],
    (event) => events.push(event),
  );
  await eventually('the end is reported', isSwept);
  await child.gone;
  return events;
}
