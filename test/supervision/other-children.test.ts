// Children of redlock-run that are not of the command: they are left alone, whichever guard dies.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { childrenOf } from '../servers/proc.ts';
import { eventually } from '../servers/processes.ts';
import { guardsOf, sharedMasters, startJob } from './rig.ts';

const namespace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const [unshare = '', ...options] = namespace;
const trial = spawnSync(unshare, [...options, 'true'], { encoding: 'utf8' });
if (trial.status !== 0) process.stderr.write(`  SKIPPED: no PID namespace: ${trial.stderr}\n`);
const flags = ['--ttl', '12s', '-k', '1s'];

it.skipIf(trial.status !== 0).each([
  ['outer', (first: number) => guardsOf(first)],
  ['inner', (first: number) => guardsOf(first).flatMap(guardsOf)],
])('as process 1, the orphans of others stay when the %s guard dies', async (_, guards) => {
  const command = ['sh', '-c', 'echo ready; exec sleep 600'];
  const { run } = startJob(await sharedMasters(), command, { flags, through: namespace });
  await run.says('stdout', /ready/, 20_000);
  const [first = 0] = childrenOf(run.pid);
  const script = "(trap 'echo told' TERM; echo there; while :; do sleep 0.1; done) &";
  const orphan = enter(first, script);
  const output = outputOf(orphan);
  await eventually('it is there', () => output() === 'there\n', 20_000);
  await eventually('it is an orphan', () => childrenOf(first).length === 2, 20_000);
  process.kill(guards(first)[0] as number, 'SIGKILL');
  expect(await run.result).toMatchObject({ code: 79 });
  expect(output()).toBe('there\n');
});

it('the child of a script that became redlock-run stays', async () => {
  const helped = 'sleep 60 & echo "helper $!"; exec "$@"';
  const through = ['bash', '-c', helped, 'bash'];
  const { run } = startJob(await sharedMasters(), ['true'], { flags, through });
  const [, helper] = await run.says('stdout', /helper (\d+)/, 20_000);
  expect(await run.result).toMatchObject({ code: 0 });
  process.kill(Number(helper), 'SIGKILL'); // It throws where the process is gone.
});

/** Runs a script beside process 1 of a namespace, as `docker exec` does. */
function enter(first: number, script: string): ChildProcess {
  const args = ['--target', String(first), '--pid', '--mount', 'sh', '-c', script];
  return spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

function outputOf(child: ChildProcess): () => string {
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  return () => output;
}
