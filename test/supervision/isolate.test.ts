// --isolate: every process ends with the namespace, and the command does not notice it: streams,
// signals and exit codes are as without. Its descriptors: descriptors.test.ts.

import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { readableProgram } from '../servers/readable-copy.ts';
import { nodeProgram } from '../servers/run-cli.ts';
import {
  everyKind,
  linesOf,
  measure,
  patient,
  sharedMasters,
  startFamily,
  startJob,
} from './rig.ts';

const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
const namespaces = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const obstacle = obstacleTo(isRoot ? namespaces : [...namespaces, '--user', '--map-current-user']);
if (obstacle !== null) process.stderr.write(`  SKIPPED: --isolate: ${obstacle}\n`);
const isolated = [...patient, '--isolate'];

describe.skipIf(obstacle !== null).concurrent('processes of an isolated command', () => {
  it.concurrent.each([
    ['SIGKILL of redlock-run', 'SIGKILL'],
    ['SIGTERM of redlock-run', 'SIGTERM'],
  ] as const)('no process survives the %s', async (title, signal) => {
    const flags = ['--ttl', '5s', '-k', '1s', '--isolate'];
    const job = await startFamily(await sharedMasters(), { flags, kinds: everyKind }).ready();
    job.happens();
    job.run.signal(signal);
    const outcome = await job.outcome();
    measure(`isolated, ${title}`, outcome);
    expect(outcome.signal).toBe(signal);
    expect(outcome.goneAfterMs).toBeLessThan(2_500);
  });

  it.concurrent('no process survives the freeze of redlock-run', async () => {
    const flags = ['--ttl', '5s', '-k', '1s', '--isolate'];
    const job = await startFamily(await sharedMasters(), { flags, kinds: everyKind }).ready();
    job.happens();
    job.run.signal('SIGSTOP');
    const outcome = await job.outcome('frozen');
    measure('isolated, SIGSTOP of redlock-run for ever', outcome);
  });

  it.concurrent('leftovers get the stop signal, with one warning, before the release', async () => {
    const job = startFamily(await sharedMasters(), {
      flags: isolated,
      kinds: ['plain', 'daemon', 'thief'],
      itself: 'leaves',
      env: { EXIT_CODE: '4' },
    });
    const result = await job.run.result;
    expect(result.code).toBe(4);
    expect(linesOf(result)).toEqual([
      expect.stringMatching(/the command left 3 processes behind; ending them/),
    ]);
    await job.witness.looks();
    expect(job.witness.alive).toEqual([]);
  });
});

describe.skipIf(obstacle !== null).concurrent('a command that does not notice it', () => {
  it.concurrent.each([
    ['an exit code', ['sh', '-c', 'exit 7'], { code: 7, signal: null }],
    ['death by SIGKILL', ['sh', '-c', 'kill -9 $$'], { code: 137, signal: null }],
    ['death by SIGTERM', ['sh', '-c', 'kill -TERM $$'], { code: null, signal: 'SIGTERM' }],
    [
      'a command that is called like a builtin, with blanks, quotes and nothing',
      ['printf', '[%s]', 'a b', '', '"\'$x'],
      { code: 0, stdout: '[a b][]["\'$x]' },
    ],
    ['a command that is not there', ['there-is-no-such-program'], { code: 127 }],
  ])('%s is as without', async (_title, command, expected) => {
    const job = startJob(await sharedMasters(), command, { flags: isolated });
    expect(await job.run.result).toMatchObject(expected);
  });

  it.concurrent('a run inside an isolated run stops its processes by pids there', async () => {
    const program = nodeProgram('redlock-run');
    const redlockRun = `"${process.execPath}" "${program}" -k 300ms inner-of-$JOB`;
    const inner = `${redlockRun} -- sh -c '(sleep 600 &) ; echo ready'`;
    const job = startJob(await sharedMasters(), ['sh', '-c', `${inner}; echo "$?"`], {
      flags: isolated,
    });
    const result = await job.run.result;
    expect(result.stdout).toBe('ready\n0\n');
    expect(linesOf(result)).toEqual([
      expect.stringMatching(/"inner-of-\w+": the command left 1 process behind/),
    ]);
  });

  it.concurrent('refuses a /proc of another namespace: it would kill at random', async () => {
    const asRoot = isRoot ? [] : ['--user', '--map-current-user'];
    const through = ['unshare', '--pid', '--fork', '--kill-child', '--mount', ...asRoot];
    const job = startJob(await sharedMasters(), ['touch', '/nonexistent'], {
      flags: patient,
      through,
    });
    expect(await job.run.result).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(
        /^redlock-run: guard: .*: \/proc shows another PID namespace than ours \(.*\)\n$/,
      ),
    });
  });

  it.concurrent('stdin reaches the command', async () => {
    const job = startJob(await sharedMasters(), ['cat'], { flags: isolated, stdin: 'typed\n' });
    expect(await job.run.result).toMatchObject({ code: 0, stdout: 'typed\n', stderr: '' });
  });

  it.concurrent('signals reach the command, and the stop signal is its own to handle', async () => {
    const script = `for s in HUP USR1 USR2 WINCH; do trap "echo $s" $s; done
trap 'echo TERM; exit 9' TERM; echo ready
      while :; do sleep 0.1; done`;
    const job = await startJob(await sharedMasters(), ['bash', '-c', script], {
      flags: isolated,
    }).ready();
    for (const name of ['HUP', 'USR1', 'USR2', 'WINCH', 'TERM']) {
      expect(constants.signals).toHaveProperty(`SIG${name}`);
      job.run.signal(`SIG${name}` as NodeJS.Signals);
      await job.run.says('stdout', new RegExp(`^${name}$`, 'm'));
    }
    expect(await job.run.result).toMatchObject({ signal: 'SIGTERM' });
  });
});

describe.skipIf(
  !isRoot || obstacleTo([...asUser, ...namespaces, '--user', '--map-current-user']) !== null,
)('for a user other than root', () => {
  it('works in a user namespace of its own', async () => {
    const { startMasters } = await import('../servers/masters.ts');
    const masters = await startMasters(3, { transport: 'tcp' });
    const script = 'id -u; (setsid env -i sleep 600 >/dev/null 2>&1 &); sleep 0.3; exit 6';
    const job = startJob(masters, ['sh', '-c', script], {
      flags: isolated,
      cwd: '/',
      env: { HOME: '/' },
      through: asUser,
      path: readableProgram(),
    });
    const result = await job.run.result;
    expect(result).toMatchObject({ code: 6, stdout: '65534\n' });
    expect(linesOf(result)).toEqual([expect.stringMatching(/the command left 1 process behind/)]);
  });
});

/** null: this machine allows it. */
function obstacleTo(args: readonly string[]): string | null {
  const trial = spawnSync(args[0] ?? '', [...args.slice(1), 'true'], { encoding: 'utf8' });
  return trial.status === 0 ? null : String(trial.error ?? trial.stderr).trim();
}
