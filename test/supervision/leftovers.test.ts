// The processes that a command leaves behind: stopped before the lock is released, with one
// warning, unless the user wants to keep them. And nested runs, with the guard of an inner run in
// the sweep of the enclosing one.

import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import { eventually } from '../servers/processes.ts';
import { nodeProgram } from '../servers/run-cli.ts';
import {
  everyKind,
  guardsOf,
  linesOf,
  measure,
  patient,
  sharedMasters,
  startFamily,
  startJob,
} from './rig.ts';
import { allProcesses } from './witness.ts';

const withPerl = it.skipIf(!hasPerl).concurrent;
const warning =
  /^redlock-run: warning: "\w+": the command left \d+ process(es)? behind; ending them/;

withPerl('leftovers that obey end at once, and the exit code is the command’s', async () => {
  const job = startFamily(await sharedMasters(), {
    flags: ['--ttl', '30s', '-k', '8s'],
    kinds: ['plain', 'daemon', 'group', 'stopped'],
    itself: 'leaves',
    stdin: 'pipe',
    env: { EXIT_CODE: '3' },
  });
  await job.ready();
  job.leaves();
  const outcome = await job.outcome();
  measure('leftovers that obey', outcome);
  expect(outcome).toMatchObject({ code: 3, stdout: 'ready\n' });
  expect(linesOf(outcome)).toEqual([expect.stringMatching(warning)]);
  expect(outcome.goneAfterMs).toBeLessThan(7_000);
});

withPerl('leftovers that do not obey are killed before the lock is free', async () => {
  // The owner of the bare one is unknown once its parent has ended: see --isolate.
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
  measure('leftovers that do not obey', outcome);
  expect(outcome).toMatchObject({ code: 0, stdout: 'ready\n' });
  expect(linesOf(outcome)).toEqual([expect.stringMatching(warning)]);
  expect(outcome.goneAfterMs).toBeLessThan(2_500);
});

withPerl('leftovers are ended within five seconds when the guard dies meanwhile', async () => {
  const job = startFamily(await sharedMasters(), {
    flags: ['--ttl', '3m', '-k', '50s'],
    kinds: ['deaf'],
    itself: 'leaves',
    stdin: 'pipe',
  });
  await job.ready();
  job.leaves();
  await job.run.says('stderr', /the command left \d+ process/);
  process.kill(job.guardPid, 'SIGKILL');
  const outcome = await job.outcome();
  measure('leftovers whose guard died', outcome);
  expect(outcome).toMatchObject({ code: 0 });
  expect(linesOf(outcome)[1]).toMatch(/the guard process died/);
  expect(outcome.goneAfterMs).toBeLessThan(15_000);
});

withPerl('a lone rabbit that the command leaves behind is not overlooked', async () => {
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

withPerl('finds processes that the command starts last, by way of others', async () => {
  const masters = await sharedMasters();
  const leave = 'fork && exit; POSIX::setsid(); fork && exit';
  const late = `${leave}; exec {"sleep"} "$ENV{JOB}-late", "600"`;
  const jobs = Array.from({ length: 4 }, () =>
    startJob(masters, ['sh', '-c', `perl -MPOSIX -e '${late}' & exit 0`], { flags: patient }),
  );
  for (const job of jobs) {
    expect(linesOf(await job.run.result)).toEqual([expect.stringMatching(warning)]);
    await job.witness.looks();
    expect(job.witness.alive).toEqual([]);
  }
});

withPerl.each([
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

withPerl('an enclosing run stops the inner job, and not the inner guard', async () => {
  const masters = await sharedMasters();
  const { execPath } = process;
  const program = nodeProgram('redlock-run');
  const family = fileURLToPath(new URL('fixtures/family.sh', import.meta.url));
  const inner = [
    '--ttl',
    '12s',
    'inner-of-$JOB',
    '--',
    'bash',
    `"${family}"`,
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
  measure('nested, SIGKILL of the enclosing run', outcome);
  await eventually(
    'the inner guard ended by itself',
    () => guardsOf(1).every((pid) => pid !== innerGuard),
    3_000,
  );
});

it.concurrent('a killed inner run leaves its guard and job to the enclosing run', async () => {
  const program = nodeProgram('redlock-run');
  const stubborn = `sh -c 'trap "" TERM; echo ready; exec sleep 600'`;
  const inner = `"${process.execPath}" "${program}" --ttl 12s inner-of-$JOB -- ${stubborn}`;
  const script = `${inner} & read -r line; { kill -9 $!; wait $!; } 2>/dev/null; true`;
  const job = startJob(await sharedMasters(), ['bash', '-c', script], { stdin: 'pipe' });
  await job.run.says('stdout', /ready/);
  job.leaves();
  const result = await job.run.result;
  expect(result.code).toBe(0);
  expect(linesOf(result)).toEqual([expect.stringMatching(/the command left 3 processes behind/)]);
});

function allProcessesOf(token: string, pattern: RegExp): number[] {
  return allProcesses(/^redlock-guard/)
    .filter(({ command }) => command.includes(token) && pattern.test(command))
    .map(({ pid }) => pid);
}
