// The time of day is set while the job runs, by a library that shows the real program another time.
// Elapsed time is what counts. *Note:* a step forward loses the lock, because it may mean that the
// machine slept.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { pass, sharedMasters, startFamily } from './rig.ts';

const got = spawnSync(process.execPath, ['scripts/faketime.js'], {
  encoding: 'utf8',
  timeout: generous(60_000),
});
if (got.status !== 0)
  process.stderr.write(`  SKIPPED: another time of day: ${got.stderr.trim()}\n`);

const folder = mkdtempSync(path.join(tmpdir(), 'time-of-day-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A running job, with a time of day that only it sees. */
async function jobUnder(title: string) {
  const file = path.join(folder, title);
  const set = (offset: string) => writeFileSync(file, `${offset}\n`);
  set('+0');
  const env = {
    LD_PRELOAD: got.stdout.trim(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    FAKETIME_NO_CACHE: '1',
  };
  const job = await startFamily(await sharedMasters(), { kinds: ['plain'], env }).ready();
  return { job, set };
}

describe.skipIf(got.status !== 0)('20. the time of day is set', () => {
  it.concurrent('forward by an hour: the job ends before its key, with the reason', async () => {
    const { job, set } = await jobUnder('forward');
    job.happens();
    set('+1h');
    const outcome = await job.outcome();
    expect(outcome.code).toBe(79);
    expect(outcome.stderr).toMatch(/suspended|clock/);
    expect(outcome.goneAfterMs).toBeLessThan(2_500);
  });

  it.concurrent('back by an hour: nothing happens', async () => {
    const { job, set } = await jobUnder('back');
    set('-1h');
    await pass(7_000);
    expect(job.witness.alive.length).toBeGreaterThan(0);
    expect(job.run.stderr).not.toMatch(/lost|suspended/);
    job.run.signal('SIGTERM');
    expect((await job.run.result).signal).toBe('SIGTERM');
    await job.nothingLeft();
  });
});
