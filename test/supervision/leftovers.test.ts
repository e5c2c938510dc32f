// What a command leaves behind when it ends by itself: ended before the lock is released, with one warning, unless the user wants
// to keep it. And what runs inside of what: nested runs, and the guard of an inner run in the sweep of an outer one.

import { once } from 'node:events';
import { expect, it } from 'vitest';
import { eventually } from '../servers/processes.ts';
import {
  everyKind,
  guardsOf,
  linesOf,
  note,
  patient,
  sharedMasters,
  startFamily,
  startJob,
} from './rig.ts';
import { allProcesses } from './witness.ts';

const warning =
  /^redlock-run: warning: "\w+": the command left \d+ process(es)? behind; ending them/;

it.concurrent('leftovers that obey are gone at once, and the exit code is the command’s own', async () => {
  const job = startFamily(await sharedMasters(), {
    flags: patient,
    kinds: ['plain', 'daemon', 'group', 'stopped'],
    itself: 'leaves',
    stdin: 'pipe',
    env: { EXIT_CODE: '3' },
  });
  await job.ready();
  job.leaves();
  const outcome = await job.outcome();
  note('leftovers that obey', outcome);
  expect(outcome).toMatchObject({ code: 3, stdout: 'ready\n' });
  expect(linesOf(outcome)).toEqual([expect.stringMatching(warning)]);
  expect(outcome.goneAfterMs).toBeLessThan(900);
  expect(outcome.marginMs).toBeGreaterThanOrEqual(0);
});

it.concurrent('leftovers that do not obey are killed after the grace, and only then the lock is free', async () => {
  // Nobody can tell whose the bare one is, once its parent has gone: see --isolate.
  const kinds = everyKind.filter((kind) => kind !== 'bare');
  const job = startFamily(await sharedMasters(), {
    flags: patient,
    kinds,
    itself: 'leaves',
    stdin: 'pipe',
  });
  await job.ready();
  job.leaves();
  const outcome = await job.outcome();
  note('leftovers that do not obey', outcome);
  expect(outcome).toMatchObject({ code: 0, stdout: 'ready\n' });
  expect(linesOf(outcome)).toEqual([expect.stringMatching(warning)]);
  expect(outcome.goneAfterMs).toBeLessThan(2_500);
  expect(outcome.marginMs).toBeGreaterThanOrEqual(0);
});

it.concurrent('a lone rabbit that the command leaves behind is not overlooked', async () => {
  const masters = await sharedMasters();
  const jobs = Array.from({ length: 4 }, () =>
    startFamily(masters, {
      flags: patient,
      kinds: ['rabbit'],
      itself: 'leaves',
      env: { RABBIT_HOP_MS: '3' },
    }),
  );
  for (const job of jobs) {
    expect(linesOf(await job.run.result)[0]).toMatch(warning);
    await job.witness.looks();
    expect(job.witness.alive).toEqual([]);
  }
});

it.concurrent('nobody is overlooked whom the command starts in its last moment, by way of others who end at once', async () => {
  const masters = await sharedMasters();
  const late = `fork && exit; POSIX::setsid(); fork && exit; exec {"sleep"} "$ENV{JOB}-late", "600"`;
  const jobs = Array.from({ length: 4 }, () =>
    startJob(masters, ['sh', '-c', `perl -MPOSIX -e '${late}' & exit 0`], { flags: patient }),
  );
  for (const job of jobs) {
    expect(linesOf(await job.run.result)).toEqual([expect.stringMatching(warning)]);
    await job.witness.looks();
    expect(job.witness.alive).toEqual([]);
  }
});

it.concurrent.each([
  ['says nothing', [], /^$/],
  [
    'says so with -v',
    ['-v'],
    /^redlock-run: left: "\w+": the command left 3 processes behind, going on without the lock$/m,
  ],
])('--keep-background leaves them, and %s', async (_title, verbosity, expected) => {
  const job = startFamily(await sharedMasters(), {
    flags: [...patient, '--keep-background', ...verbosity],
    kinds: ['plain', 'deaf', 'daemon'],
    itself: 'leaves',
  });
  const [code] = await once(job.run.child, 'exit'); // Its streams stay open as long as they live.
  expect(code).toBe(0);
  expect(linesOf(job.run).join('\n')).toMatch(expected);
  await eventually('the guard is gone', () => guardsOf(job.run.pid).length === 0);
  await eventually('three are seen', () => job.witness.alive.length === 3);
  await job.cleanUp();
});

it.concurrent('a command that leaves nothing is not waited for', async () => {
  const job = startJob(await sharedMasters(), ['sh', '-c', 'sleep 0.2; date +%s%3N'], {
    flags: patient,
  });
  const result = await job.run.result;
  const endedAt = Date.now();
  expect(linesOf(result)).toEqual([]);
  expect(endedAt - Number(result.stdout)).toBeLessThan(2_000);
});

it.concurrent('the run around another one ends the inner job too, and leaves the inner guard alone', async () => {
  const masters = await sharedMasters();
  const { execPath } = process;
  const program = new URL('../../bin/redlock-run.js', import.meta.url).pathname;
  const family = new URL('fixtures/family.sh', import.meta.url).pathname;
  const inner = [
    '--ttl',
    '12s',
    'inner-of-$JOB',
    '--',
    'bash',
    family,
    '$JOB',
    'stays',
    'deaf',
    'daemon',
    'rabbit',
  ];
  const job = startJob(masters, ['bash', '-c', `"${execPath}" "${program}" ${inner.join(' ')}`]);
  await job.ready();
  const [innerRun] = allProcessesOf(job.name, /redlock-run\.js --ttl 12s inner-of/);
  expect(innerRun).toBeDefined();
  const [innerGuard] = guardsOf(innerRun as number);
  job.happens();
  job.run.signal('SIGKILL');
  const outcome = await job.outcome();
  note('nested, SIGKILL of the outer run', outcome);
  expect(outcome.marginMs).toBeGreaterThan(50);
  await eventually(
    'the inner guard ended by itself',
    () => guardsOf(1).every((pid) => pid !== innerGuard),
    3_000,
  );
});

it.concurrent('an inner run that was killed leaves its guard and its job to the outer run', async () => {
  const program = new URL('../../bin/redlock-run.js', import.meta.url).pathname;
  const stubborn = `sh -c 'trap "" TERM; echo ready; exec sleep 600'`;
  const script = `"${process.execPath}" "${program}" --ttl 12s inner-of-$JOB -- ${stubborn} & sleep 2.5; { kill -9 $!; wait $!; } 2>/dev/null; true`;
  const job = startJob(await sharedMasters(), ['bash', '-c', script]);
  const result = await job.run.result;
  expect(result.code).toBe(0);
  expect(linesOf(result)).toEqual([expect.stringMatching(/the command left 2 processes behind/)]);
});

function allProcessesOf(token: string, pattern: RegExp): number[] {
  return allProcesses(/^redlock-guard/)
    .filter(({ command }) => command.includes(token) && pattern.test(command))
    .map(({ pid }) => pid);
}
