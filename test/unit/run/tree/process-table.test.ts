// What /proc says, read as proc(5) has it, also of processes with odd names and odd ends.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { objectionToTable, parseStat, processTable } from '../../../../src/run/tree/process-table.ts';

const isLinux = process.platform === 'linux';
const stat = (name: string, state: string, threads: number) =>
  `42 (${name}) ${state} 7 40 41 34816 42 4194304 1 2 3 4 5 6 7 8 20 0 ${threads} 0 9876 1 2 3`;

it.each(['sh', 'a b', 'a) R 1 2 3 (b', '', ')'])('reads the line of a process called %j', (name) => {
  expect(parseStat(stat(name, 'S', 1))).toEqual({
    pid: 42,
    parent: 7,
    group: 40,
    session: 41,
    startedAt: 9876,
    isAlive: true,
    isZombie: false,
  });
});

it.each([
  ['running', 'R', 1, true],
  ['stopped', 'T', 1, true],
  ['in uninterruptible sleep', 'D', 1, true],
  ['a zombie', 'Z', 1, false],
  ['a zombie with threads that go on', 'Z', 3, true],
  ['dead', 'X', 1, false],
])('%s: alive is %s', (_title, state, threads, isAlive) => {
  expect(parseStat(stat('x', state, threads))?.isAlive).toBe(isAlive);
});

it.each([null, '', '42', '?'])('makes nothing of %j', (text) => expect(parseStat(text)).toBeNull());

it.skipIf(!isLinux)('believes the /proc of this machine', () => expect(objectionToTable()).toBeNull());

it.skipIf(!isLinux)('sees a child with its parent and the texts in its environment', async () => {
  const child = spawn('sleep', ['600'], { env: { MARK: 'a-b-c' }, detached: true });
  try {
    await once(child, 'spawn');
    const since = processTable.startedAt(process.pid) ?? 0;
    const { entries, isSettled } = processTable.read(since, ['a-b', 'MARK=', 'other']);
    expect(entries.find(({ pid }) => pid === child.pid)).toMatchObject({
      parent: process.pid,
      group: child.pid,
      session: child.pid,
      found: ['a-b', 'MARK='],
    });
    expect(isSettled).toBe(true);
    expect(processTable.startedAt(child.pid as number)).toBeGreaterThanOrEqual(since);
  } finally {
    child.kill('SIGKILL');
  }
});

it.skipIf(!isLinux)('sees a process without an environment, and does not wait for it to have one', async () => {
  const child = spawn('sleep', ['600'], { env: {} });
  try {
    await once(child, 'spawn');
    const { entries, isSettled } = processTable.read(0, ['x']);
    expect(entries.find(({ pid }) => pid === child.pid)).toMatchObject({ found: [] });
    expect(isSettled).toBe(true);
  } finally {
    child.kill('SIGKILL');
  }
});

const python = spawnSync('python3', ['-c', '']).status === 0;

it.skipIf(!isLinux || !python)('sees a process whose first thread has ended, with its environment', async () => {
  const script = `import threading, time, ctypes
threading.Thread(target=lambda: time.sleep(600)).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60, 0)`;
  const child = spawn('python3', ['-c', script], { env: { PATH: process.env.PATH, MARK: 'threads' } });
  try {
    await once(child.stdout, 'data');
    await expect
      .poll(() => processTable.read(0, ['MARK=threads']).entries.filter(({ found }) => found.length > 0).length)
      .toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 300)); // By now the first thread is gone.
    const { entries } = processTable.read(0, ['MARK=threads']);
    expect(entries.filter(({ found }) => found.length > 0).map(({ pid }) => pid)).toContain(child.pid);
  } finally {
    child.kill('SIGKILL');
  }
});
