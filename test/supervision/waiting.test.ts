// A run that waits for its lock is redlock-run and its guard: no process stands ready for the
// command, and none is started before the lock is acquired.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { environmentFor } from '../cli/rig.ts';
import { childrenOf } from '../servers/proc.ts';
import { eventually } from '../servers/processes.ts';
import { startCli } from '../servers/run-cli.ts';
import { Succession, type SuccessionOptions } from './next-holder.ts';
import { pass, sharedMasters, statOf } from './rig.ts';

const command = () => ['sh', '-c', 'echo began'];

it.concurrent('redlock-run and its guard are all there is', async () => {
  const { run } = await waiting();
  const seen = new Set<string>();
  for (const endAt = performance.now() + 3_000; performance.now() < endAt; await pass(20)) {
    for (const name of descendantsOf(run.first.pid)) seen.add(name);
    for (const { pid } of run.first.survivors()) seen.add(nameOf(pid));
  }
  const own = nameOf(run.first.pid);
  expect([...seen].sort()).toEqual([own, 'redlock-guard'].sort());
  run.first.signal('SIGTERM');
  await run.result;
});

// In a PID namespace of its own, the last pid reveals each new process or thread.
const inNamespace = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const trial = spawnSync(inNamespace[0] ?? '', [...inNamespace.slice(1), 'true'], {
  encoding: 'utf8',
});
if (trial.status !== 0) process.stderr.write(`  SKIPPED: no PID namespace: ${trial.stderr}\n`);

it.skipIf(trial.status !== 0).concurrent('nothing is started', async () => {
  const tells = 'read -r line; read -r _ _ _ _ last </proc/loadavg; echo "$1 $last"';
  const script = `"$@" & set -- first; ${tells}; set -- second; ${tells}; kill -KILL $!; exit`;
  const through = [...inNamespace, 'bash', '-c', script, 'bash'];
  const { run } = await waiting({ through, stdin: 'pipe' });
  const lastNumber = async (which: string) => {
    run.first.child.stdin?.write('\n');
    return (await run.first.says('stdout', new RegExp(`${which} (\\d+)`)))[1];
  };
  await pass(2_000); // Node starts some threads of its own when it first needs them.
  const first = await lastNumber('first');
  await pass(3_000);
  expect(await lastNumber('second')).toBe(first);
  await run.result;
});

/** redlockctl as the first process of a container, whose lock is held by another client. */
it.skipIf(trial.status !== 0).concurrent.each([
  ['wait', []],
  ['acquire', ['-w', '50s']],
  ['hold', ['-w', '50s']],
])('redlockctl %s as process 1: TERM is 143', async (verb, flags) => {
  const { masters, name } = await taken();
  const run = startCli([verb, name, ...flags], {
    program: 'redlockctl',
    env: environmentFor(masters),
    through: inNamespace,
  });
  const first = await eventually('it is there', () => childrenOf(run.pid)[0], 20_000);
  const isWaiting = async () =>
    verb === 'wait'
      ? run.stderr.includes('waiting')
      : (await masters[0]?.command('zcard', `{redlock:${name}}:queue`)) === 1;
  await eventually('it waits', isWaiting, 20_000);
  process.kill(first, 'SIGTERM');
  const { code, stdout } = await run.result;
  expect([code, stdout]).toEqual([143, '']);
});

/** A lock that is held by another client. */
async function taken() {
  const masters = await sharedMasters();
  const name = randomBytes(6).toString('hex');
  for (const master of masters) {
    await master.command('set', `redlock:${name}`, 'them', 'px', 60_000);
  }
  return { masters, name };
}

/** A run whose lock is held by another client. */
async function waiting(more: SuccessionOptions = {}): Promise<{ run: Succession }> {
  const { masters, name } = await taken();
  const run = new Succession(masters, command, { name, ...more });
  await run.isQueued();
  return { run };
}

/** The names of all its descendants. */
function descendantsOf(ancestor: number): string[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const parents = new Map(pids.map((pid) => [pid, statOf(pid)?.parent ?? 0]));
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid) ?? 0;
    return parent === ancestor || (parent !== 0 && isBelow(parent));
  };
  return pids.filter(isBelow).map(nameOf);
}

function nameOf(pid: number): string {
  return statOf(pid)?.command ?? 'ended';
}
