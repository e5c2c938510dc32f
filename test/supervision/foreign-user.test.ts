// A process of another user inside the job: redlock-run may not stop it, reports it, and does not
// release the lock. Needs root, to run redlock-run as the user nobody with a program that becomes
// root again.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sample } from '../../src/ctl/metrics.ts';
import { ctl } from '../ctl/rig.ts';
import type { TestMaster } from '../servers/master.ts';
import { startMasters, stopAll } from '../servers/masters.ts';
import { isAlive } from '../servers/processes.ts';
import { readableProgram } from '../servers/readable-copy.ts';
import { CliRun } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { linesOf } from './rig.ts';

const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups'];
const folder = mkdtempSync(join(scratchFolder(), 'other-'));
const become = join(folder, 'become-root');

const obstacle = findObstacle();
if (obstacle !== null) process.stderr.write(`  SKIPPED: a process of another user: ${obstacle}\n`);

let masters: TestMaster[] = [];
beforeAll(async () => {
  if (obstacle === null) masters = await startMasters(3, { transport: 'tcp' });
});
const foreign: number[] = [];
afterAll(async () => {
  for (const pid of foreign.filter(isAlive)) process.kill(pid, 'SIGKILL');
  await stopAll();
});

it.skipIf(obstacle !== null)(
  'is told of by its pid, keeps the lock from being released, and changes no exit code',
  async () => {
    const sleeper = `"${become}" --reuid=0 --regid=0 --clear-groups sleep 600`;
    const script = `${sleeper} >/dev/null 2>&1 & echo "pid $!"; sleep 1; exit 5`;
    const run = asNobody(['--ttl', '8s', '-k', '500ms', 'theirs', '--', 'sh', '-c', script]);
    const [, pid = ''] = await run.says('stdout', /pid (\d+)/);
    foreign.push(Number(pid));
    const result = await run.result;
    expect(result.code).toBe(5);
    expect(result.elapsedMs).toBeLessThan(9_000); // It is not waited for.
    expect(linesOf(result)).toEqual([
      expect.stringMatching(/the command left 1 process behind; ending them/),
      expect.stringMatching(
        new RegExp(
          `warning: "theirs": cannot kill ${pid} of root \\(uid 0\\) .*the lock is not released`,
        ),
      ),
    ]);
    for (const master of masters) expect(await master.get('redlock:theirs')).not.toBeNull();
  },
);

it.skipIf(obstacle !== null)(
  'as the job itself is told of in the same way when the lock is lost',
  async () => {
    const run = asNobody([
      '--ttl',
      '5s',
      '-k',
      '500ms',
      'ours',
      '--',
      become,
      '--reuid=0',
      '--regid=0',
      '--clear-groups',
      'sh',
      '-c',
      'echo "pid $$"; exec sleep 600 >&- 2>&-',
    ]);
    const [, pid = ''] = await run.says('stdout', /pid (\d+)/);
    foreign.push(Number(pid));
    for (const master of masters) await master.flush();
    const result = await run.result;
    expect(result.code).toBe(79);
    expect(linesOf(result)[0]).toMatch(new RegExp(`warning: "ours": cannot kill ${pid} `));
  },
);

it.skipIf(obstacle !== null)(
  'does not hide how the run ended: history, report, check and metrics have it',
  async () => {
    const file = join(mkdtempSync(join(folder, 'report-')), 'report.json');
    chmodSync(join(file, '..'), 0o777);
    const script = 'echo "pid $$"; exec sleep 600 >&- 2>&-';
    const asRoot = ['--reuid=0', '--regid=0', '--clear-groups', 'sh', '-c', script];
    const limits = ['--ttl', '8s', '-k', '200ms', '--max-run', '300ms', '--report', file];
    const run = asNobody([...limits, 'long', '--', become, ...asRoot]);
    const [, pid = ''] = await run.says('stdout', /pid (\d+)/);
    foreign.push(Number(pid));
    const result = await run.result;
    expect(result.code).toBe(124);
    expect(linesOf(result)[1]).toMatch(
      new RegExp(`^redlock-run: max-run: .* could not be killed: ${pid} of root \\(uid 0\\) `),
    );
    const end = {
      outcome: 'max-run',
      status: 124,
      unkillable: [{ pid: Number(pid), user: 'root (uid 0)' }],
    };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject(end);
    const jsonOf = async (...args: string[]) =>
      JSON.parse((await ctl(masters, [...args, '--json'])).stdout);
    const { runs } = await jsonOf('history', 'long');
    expect(runs).toMatchObject([end]);
    expect((await ctl(masters, ['status', 'long'])).stdout).toMatch(/kept for another [\d.]+s\n/);
    // The lock is left to expire: no master was asked to free it.
    for (const master of masters) expect(await master.get('redlock:long')).not.toBeNull();
    for (const master of masters) await master.command('del', 'redlock:long');
    expect((await jsonOf('history', 'long')).runs).toMatchObject([end]);
    expect(await jsonOf('check', 'long', '--succeeded-within', '1h')).toMatchObject({
      outcome: 'overdue',
    });
    const { metrics } = await jsonOf('metrics');
    const counted = metrics.find(({ name }: { name: string }) => name === 'redlock_runs');
    const ofLong = counted.samples.filter((sample: Sample) => sample.labels.lock === 'long');
    expect(ofLong).toEqual([{ labels: { lock: 'long', outcome: 'max-run' }, value: 1 }]);
  },
);

function asNobody(args: readonly string[]): CliRun {
  const env = {
    REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
    REDLOCK_RESTART_GRACE: '0',
    HOME: '/',
  };
  const through = ['setpriv', ...nobody];
  return new CliRun(args, { env, cwd: '/', through, path: readableProgram() });
}

/** null: this machine can run the test. */
function findObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'not root';
  const setpriv = spawnSync('sh', ['-c', 'command -v setpriv'], { encoding: 'utf8' }).stdout.trim();
  if (setpriv === '') return 'no setpriv';
  copyFileSync(setpriv, become);
  chmodSync(become, 0o4755);
  chmodSync(scratchFolder(), 0o711);
  chmodSync(folder, 0o755);
  const trial = spawnSync('setpriv', [
    ...nobody,
    become,
    '--reuid=0',
    '--regid=0',
    '--clear-groups',
    'id',
    '-u',
  ]);
  if (String(trial.stdout).trim() !== '0')
    return 'the temporary folder allows no set-user-ID programs';
  const version = [process.execPath, readableProgram(), '--version'];
  const reads = spawnSync('setpriv', [...nobody, ...version], { cwd: '/' });
  return reads.status === 0 ? null : 'nobody may not run Node';
}
