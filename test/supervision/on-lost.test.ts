// --on-lost: runs once when the lock is lost, with its name and the reason, prints only to stderr,
// and is killed after ten seconds.

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { linesOf, sharedMasters, startFamily } from './rig.ts';

const withPerl = it.skipIf(!hasPerl).concurrent;
const stops = ['--ttl', '5s', '-k', '300ms', '--on-lost'];

withPerl('runs once, with the name and the reason, without output on stdout', async () => {
  const masters = await sharedMasters();
  const file = join(mkdtempSync(join(scratchFolder(), 'lost-')), 'lost');
  const script = `echo "$REDLOCK_NAME $REDLOCK_LOST" >> ${file}; echo said`;
  const job = await startFamily(masters, {
    flags: [...stops, script],
    kinds: ['deaf', 'daemon'],
  }).ready();
  job.witness.keyIsTaken();
  for (const master of masters) await master.command('del', `redlock:${job.name}`);
  const outcome = await job.outcome();
  expect(outcome).toMatchObject({ code: 79, stdout: 'ready\n' });
  expect(linesOf(outcome)).toEqual(['said', expect.stringMatching(/^redlock-run: lost: /)]);
  expect(readFileSync(file, 'utf8')).toBe(`${job.name} expired\n`);
});

it.concurrent('runs as well when the lock is lost while the command is being stopped', async () => {
  const masters = await sharedMasters();
  const flags = ['--ttl', '5s', '-k', '1600ms', '--on-lost', 'echo "said $REDLOCK_LOST"'];
  const job = await startFamily(masters, { flags, kinds: ['deaf'] }).ready();
  job.witness.keyIsTaken();
  job.run.signal('SIGTERM');
  for (const master of masters) await master.command('set', `redlock:${job.name}`, 'theirs');
  const outcome = await job.outcome();
  // The command may end before the next extension: then no loss is noticed, and there is nothing to
  // report.
  if (outcome.code === 79) expect(linesOf(outcome)[0]).toBe('said taken');
  else expect(outcome.signal).toBe('SIGTERM');
});

it.concurrent('is killed after ten seconds, and the job has ended long before', async () => {
  const masters = await sharedMasters();
  const job = await startFamily(masters, {
    flags: [...stops, 'sleep 60 & sleep 60'],
    kinds: ['deaf'],
  }).ready();
  job.witness.keyIsTaken();
  for (const master of masters) await master.command('del', `redlock:${job.name}`);
  job.happens();
  const lostAt = performance.now();
  const outcome = await job.outcome();
  expect(outcome.code).toBe(79);
  expect(outcome.goneAfterMs).toBeLessThan(5_000);
  expect(performance.now() - lostAt).toBeGreaterThan(9_500);
  expect(performance.now() - lostAt).toBeLessThan(16_000);
});
