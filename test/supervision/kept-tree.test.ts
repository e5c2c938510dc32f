// The tree of a command as the kernel keeps it, around this process as it is around the guard:
// which processes the stop signal reaches, and which the first look kills.

import { spawn } from 'node:child_process';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { KeptTree, libcForTree } from '../../src/run/processes/kept-tree.ts';
import { OtherChildren } from '../../src/run/processes/own-children.ts';
import { childrenOf, processEntry } from '../../src/run/processes/process-table.ts';
import { canAct } from '../torture/processes.ts';
import { fixture } from './next-holder.ts';

const libc = libcForTree();
libc.becomeSubreaper();
const trees: KeptTree[] = [];
afterAll(() => Promise.all(trees.map((tree) => tree.kill())));

/** Resolves when the fixture has said that it is ready. */
async function grown(isForeground: boolean, ...shape: readonly string[]) {
  const others = new OtherChildren();
  const child = spawn('perl', [fixture('tree.pl'), ...shape], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: !isForeground,
  });
  const command = { pid: child.pid as number, isForeground, hasNamespace: false };
  const isOther = (pid: number) => others.has(pid);
  const tree = new KeptTree({ libc, command, isOther, isReapedByNode: true, guard: null });
  trees.push(tree);
  child.once('exit', () => tree.commandReaped());
  let output = '';
  child.stdout.setEncoding('latin1').on('data', (text) => {
    output += text;
  });
  const says = (what: string) => expect.poll(() => output, { timeout: 30_000 }).toContain(what);
  await says('ready\n');
  return { tree, child, command, says, output: () => output };
}

const forms = [
  ['in a session of its own', false],
  ['in our group', true],
] as const;

it.each(forms)('children of processes that end during a look are told: %s', async (_, form) => {
  const { tree, output } = await grown(form, 'vanishing', '300');
  tree.stop('SIGTERM');
  await expect.poll(() => output().match(/told/g), { timeout: 30_000 }).toHaveLength(2);
  await expect.poll(() => tree.countAlive(), { timeout: 30_000 }).toBe(0);
});

it.each(forms)('what a trap starts is not told, whatever else happens: %s', async (_, form) => {
  const { tree, child, says, output } = await grown(form, 'cleaning');
  tree.stop('SIGTERM');
  await says('cleaning\n');
  tree.stop('SIGTERM');
  tree.stop('SIGINT');
  child.stdin.end('\n');
  await says('cleaned\n');
  expect(output()).not.toContain('hit');
  await expect.poll(() => tree.countAlive(), { timeout: 30_000 }).toBe(0);
});

it('one look kills a deep tree as a whole', async () => {
  const { tree, command } = await grown(false, 'deep', '80');
  const all = descendants(command.pid);
  expect(all).toHaveLength(80);
  expect(tree.size()).toBe(81);
  const killed = tree.kill();
  expect(all.filter(canAct)).toEqual([]);
  expect(await killed).toEqual([]);
});

it('a crowd is killed, and no child of ours that is not of it', async () => {
  const helper = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => void helper.kill('SIGKILL'));
  const { tree, command } = await grown(false, 'vanishing', '120');
  const all = descendants(command.pid);
  expect(await tree.kill()).toEqual([]);
  expect(all.filter(canAct)).toEqual([]);
  expect(canAct(helper.pid as number)).toBe(true);
});

it('below a guard that stands still each is told once, and all are killed', async () => {
  const forks = 'use POSIX; if (fork) { sleep 600 } else { POSIX::setsid; exec @ARGV }';
  const args = ['-e', forks, 'perl', fixture('tree.pl'), 'counting'];
  const guard = spawn('perl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void guard.kill('SIGKILL'));
  const guardPid = guard.pid as number;
  let output = '';
  guard.stdout.setEncoding('latin1').on('data', (text) => {
    output += text;
  });
  await expect.poll(() => output, { timeout: 30_000 }).toBe('ready\n');
  guard.kill('SIGSTOP');
  const [pid = 0] = childrenOf(guardPid);
  const startedAt = processEntry(guardPid)?.startedAt ?? 0;
  const tree = new KeptTree({
    libc,
    command: { pid, isForeground: false, hasNamespace: false },
    isOther: (child) => child === guardPid,
    isReapedByNode: false,
    guard: { pid: guardPid, startedAt },
  });
  trees.push(tree);
  tree.stop('SIGTERM');
  tree.stop('SIGTERM');
  await expect.poll(() => output.match(/told/g), { timeout: 30_000 }).toHaveLength(3);
  expect(tree.countAlive()).toBe(3);
  const all = descendants(guardPid);
  expect(await tree.kill()).toEqual([]);
  expect(all.filter(canAct)).toEqual([]);
  expect(output.match(/told/g)).toHaveLength(3);
});

function descendants(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);
}
