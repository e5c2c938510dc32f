// Children of redlock-run that are not of the command, in the moment in which it inherits the
// command from a dead guard: which ones it leaves alone. In PID namespaces of their own.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { childrenOf } from '../../src/run/processes/process-table.ts';
import { eventually } from '../servers/processes.ts';
import { guardsOf, sharedMasters, startJob } from './rig.ts';

const namespace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const lastPid = '/proc/sys/kernel/ns_last_pid';
const [unshare = '', ...options] = namespace;
const trial = spawnSync(unshare, [...options, 'sh', '-c', `echo 1000 >${lastPid}`], {
  encoding: 'utf8',
});
if (trial.status !== 0) process.stderr.write(`  SKIPPED: no PID namespace: ${trial.stderr}\n`);
const here = it.skipIf(trial.status !== 0);
const flags = ['--ttl', '12s', '-k', '1s'];

/** The command of a run whose earlier child is $1: it takes its number for a process of its own. */
const takesItsNumber = `
  helper=$1
  kill -KILL $helper
  while [ -e /proc/$helper ]; do sleep 0.05; done
  until [ "$!" = $helper ]; do
    [ -z "$!" ] || kill -KILL $!
    echo $((helper - 1)) >${lastPid}
    (trap '' TERM; exec sleep 600) &
  done
  echo "taken $!"
  kill -KILL $PPID
  sleep 600`;

here('a process of the command with the number of an earlier child is ended', async () => {
  const helped = 'sleep 600 & helper=$!; export helper; exec "$@"';
  const first = `bash -c '${helped}' bash "$@"; echo "end $?"`;
  const tells = 'ps -eo comm= | grep -cx sleep';
  const through = [...namespace, 'bash', '-c', `${first}; ${tells}; exit 0`, 'bash'];
  const command = ['bash', '-c', `set -- $helper; ${takesItsNumber}`];
  const { run } = startJob(await sharedMasters(), command, { flags, through });
  const { stdout, stderr } = await run.result;
  expect(stdout, stderr).toMatch(/^taken \d+\nend 79\n0\n$/);
});

here('as process 1, the orphans of others are left alone when the guard dies', async () => {
  const command = ['sh', '-c', 'echo ready; exec sleep 600'];
  const { run } = startJob(await sharedMasters(), command, { flags, through: namespace });
  await run.says('stdout', /ready/, 20_000);
  const [first = 0] = childrenOf(run.pid);
  const orphan = enter(first, `(trap 'echo told' TERM; echo there; while :; do sleep 0.1; done) &`);
  const output = outputOf(orphan);
  await eventually('it is there', () => output() === 'there\n', 20_000);
  await eventually('it is an orphan', () => childrenOf(first).length === 2, 20_000);
  const earlier = childrenOf(first);
  // redlock-run notes its children before it reaps any: when this one is reaped, all are noted.
  const later = enter(first, 'exec 3<&0; (read -r line <&3) &');
  const isLater = (pid: number) => !earlier.includes(pid);
  const pid = await eventually('so is another', () => childrenOf(first).find(isLater), 20_000);
  later.stdin?.end('\n');
  await eventually('that one is reaped', () => !childrenOf(first).includes(pid), 20_000);
  process.kill(guardsOf(first)[0] as number, 'SIGKILL');
  expect(await run.result).toMatchObject({ code: 79 });
  expect(output()).toBe('there\n');
});

/** Runs a script beside process 1 of a namespace, as `docker exec` does. */
function enter(first: number, script: string): ChildProcess {
  const args = ['--target', String(first), '--pid', '--mount', 'sh', '-c', script];
  return spawn('nsenter', args, { stdio: ['pipe', 'pipe', 'inherit'] });
}

function outputOf(child: ChildProcess): () => string {
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  return () => output;
}
