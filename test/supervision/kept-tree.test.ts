// The tree of a command as the kernel keeps it, around this process as it is around the guard:
// which processes the stop signal reaches, and which the first look kills.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { KeptTree, libcForTree } from '../../src/run/processes/kept-tree.ts';
import { OtherChildren } from '../../src/run/processes/own-children.ts';
import { childrenOf, processEntry } from '../../src/run/processes/process-table.ts';
import { StopOnce } from '../../src/run/processes/stop-once.ts';
import { walk } from '../../src/run/processes/tree-look.ts';
import { hasPerl } from '../servers/perl.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { canAct } from '../torture/processes.ts';
import { fixture } from './next-holder.ts';

const withPerl = it.skipIf(!hasPerl);
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
  const says = (what: string) => expect.poll(() => output).toContain(what);
  await says('ready\n');
  return { tree, child, command, says, output: () => output };
}

/** No SIGKILL is due before. */
const stopMs = 60_000;

const forms = [
  ['in a session of its own', false],
  ['in our group', true],
] as const;

withPerl.each(forms)(
  'children of processes that end during a look are told: %s',
  async (_, form) => {
    const { tree, output } = await grown(form, 'vanishing', '300');
    tree.stop('SIGTERM', stopMs);
    await expect.poll(() => output().match(/told/g)).toHaveLength(2);
    await expect.poll(() => tree.countAlive()).toBe(0);
  },
);

withPerl.each(forms)(
  'what a trap starts is not told, whatever else happens: %s',
  async (_, form) => {
    const { tree, child, says, output } = await grown(form, 'cleaning');
    tree.stop('SIGTERM', stopMs);
    await says('cleaning\n');
    tree.stop('SIGTERM', stopMs);
    tree.stop('SIGINT', stopMs);
    child.stdin.end('\n');
    await says('cleaned\n');
    expect(output()).not.toContain('hit');
    await expect.poll(() => tree.countAlive()).toBe(0);
  },
);

describe.skipIf(!hasPerl)('below a guard that stands still', () => {
  /** For each line it starts a process, which ends at once or stays, and reaps none. */
  function standing() {
    const script = 'while (<STDIN>) { next if fork; exec "sleep", 60 if /stays/; exit }';
    const child = spawn('perl', ['-e', script], { stdio: ['pipe', 'ignore', 'inherit'] });
    const all: number[] = [];
    // What it has started becomes ours, and would be in the trees of other tests.
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
      for (const one of all) await expect.poll(() => libc.reap(one)).not.toBeNull();
    });
    const pid = child.pid as number;
    const guard = { pid, startedAt: processEntry(pid)?.startedAt as number };
    const command = { pid: 0, isForeground: false, hasNamespace: false };
    const tree = new KeptTree({ libc, command, isOther: () => true, isReapedByNode: false, guard });
    /** Resolves with the process when it is there, or has ended, and the guard stands still. */
    const starts = async (line: 'ends' | 'stays') => {
      const count = childrenOf(pid).length;
      child.kill('SIGCONT');
      child.stdin.write(`${line}\n`);
      await expect.poll(() => childrenOf(pid).length).toBe(count + 1);
      const started = childrenOf(pid).at(-1) as number;
      all.push(started);
      if (line === 'ends') await untilEnded(started);
      child.kill('SIGSTOP');
      await expect.poll(() => processEntry(pid)?.state).toBe('T');
      return started;
    };
    return { tree, starts };
  }
  const untilEnded = (pid: number) => expect.poll(() => processEntry(pid)?.isAlive).toBe(false);

  it('nothing has ended as long as more comes', async () => {
    const { tree, starts } = standing();
    for (const line of ['ends', 'ends'] as const) {
      await starts(line);
      expect([tree.seemsEnded(), tree.seemsEnded()]).toEqual([false, true]);
    }
  });

  it('a look goes no further than to the first that is alive', async () => {
    const { tree, starts } = standing();
    await starts('ends');
    const youngest = await starts('stays');
    expect(tree.seemsEnded()).toBe(false);
    process.kill(youngest, 'SIGKILL');
    await untilEnded(youngest);
    // The older one is new to the second look.
    expect([tree.seemsEnded(), tree.seemsEnded()]).toEqual([false, true]);
  });
});

withPerl('one look kills a deep tree as a whole', async () => {
  const { tree, command } = await grown(false, 'deep', '80');
  const all = descendants(command.pid);
  expect(all).toHaveLength(80);
  // It counts for a tenth of a second at most, in which a busy machine may not let it finish.
  await expect.poll(() => tree.size()).toBe(81);
  const killed = tree.kill();
  expect(all.filter(canAct)).toEqual([]);
  expect(await killed).toEqual([]);
});

withPerl('a crowd is killed, and no child of ours that is not of it', async () => {
  const helper = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => void helper.kill('SIGKILL'));
  const { tree, command } = await grown(false, 'vanishing', '120');
  const all = descendants(command.pid);
  expect(await tree.kill()).toEqual([]);
  expect(all.filter(canAct)).toEqual([]);
  expect(canAct(helper.pid as number)).toBe(true);
});

withPerl(
  'a member of the group that has been told by its one signal is not told singly',
  async () => {
    const output = join(scratchFolder(), 'told');
    const toOutput = openSync(output, 'w');
    const child = spawn('perl', [fixture('tree.pl'), 'counting'], {
      stdio: ['ignore', toOutput, 'inherit'],
      detached: true,
    });
    closeSync(toOutput);
    const pid = child.pid as number;
    const all = () => [pid, ...descendants(pid)];
    onTestFinished(() => {
      for (const one of all()) process.kill(one, 'SIGKILL');
    });
    const countOf = (word: string) => readFileSync(output, 'utf8').split(`${word}\n`).length - 1;
    await expect.poll(() => countOf('ready')).toBe(1);
    const found = () => walk([{ pid, parent: process.pid }], pid, processEntry);
    const never = new Int32Array(new SharedArrayBuffer(4));
    const once = new StopOnce(
      { pid, isForeground: false, hasNamespace: false },
      (visit = () => {}) => {
        // Until the two in the group have acted on their signal: a second one would not be lost.
        while (countOf('told') < 2) Atomics.wait(never, 0, 0, 5);
        const seen = [...found()];
        for (const one of seen) visit(one);
        return { keys: new Set(seen.map(({ key }) => key)), living: seen };
      },
      found,
    );
    once.stop('SIGTERM', true, stopMs);
    // Of two signals that wait, a process gets the one with the smaller number first.
    for (const one of all()) process.kill(one, 'SIGWINCH');
    await expect.poll(() => countOf('asked')).toBe(3);
    expect(countOf('told')).toBe(3);
  },
);

withPerl('what has ended below a guard that does not reap it counts for nothing', async () => {
  const forks = '$| = 1; for (1 .. 20) { fork or exit } fork or exec "sleep 600"; sleep 600';
  const guard = spawn('perl', ['-e', forks], { stdio: 'ignore' });
  onTestFinished(() => void guard.kill('SIGKILL'));
  const guardPid = guard.pid as number;
  const isRunning = (pid: number) => processEntry(pid)?.isAlive === true;
  await expect.poll(() => childrenOf(guardPid).length).toBe(21);
  await expect.poll(() => childrenOf(guardPid).filter(isRunning).length).toBe(1);
  const [pid = 0] = childrenOf(guardPid).filter(isRunning);
  const tree = new KeptTree({
    libc,
    command: { pid, isForeground: true, hasNamespace: false },
    isOther: () => true,
    isReapedByNode: false,
    guard: { pid: guardPid, startedAt: processEntry(guardPid)?.startedAt ?? 0 },
  });
  trees.push(tree);
  expect(tree.size()).toBe(1);
});

withPerl('below a guard that stands still each is told once, and all are killed', async () => {
  const forks = 'use POSIX; if (fork) { sleep 600 } else { POSIX::setsid; exec @ARGV }';
  const args = ['-e', forks, 'perl', fixture('tree.pl'), 'counting'];
  const guard = spawn('perl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void guard.kill('SIGKILL'));
  const guardPid = guard.pid as number;
  let output = '';
  guard.stdout.setEncoding('latin1').on('data', (text) => {
    output += text;
  });
  await expect.poll(() => output).toBe('ready\n');
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
  tree.stop('SIGTERM', stopMs);
  tree.stop('SIGTERM', stopMs);
  await expect.poll(() => output.match(/told/g)).toHaveLength(3);
  expect(tree.countAlive()).toBe(3);
  const all = descendants(guardPid);
  expect(await tree.kill()).toEqual([]);
  expect(all.filter(canAct)).toEqual([]);
  expect(output.match(/told/g)).toHaveLength(3);
});

function descendants(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);
}
