// The processes of the system as ps(1) shows them, and a tree that is found among them, as on a
// system other than Linux. ps is that of this machine, where it has one.

import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { eventually } from '../../../servers/processes.ts';

const { platform } = process;
const { PATH, LC_ALL } = process.env;
const hasPs = (PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'ps')));

beforeEach(() => {
  Object.defineProperty(process, 'platform', { value: 'freebsd' });
  vi.resetModules();
});

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform });
  vi.unstubAllEnvs();
});

/** A ps that writes the date in German, unless it is told to speak plainly. */
const germanPs = `#!/bin/sh
case "$LC_ALL" in
C) date='Wed Dec  2 20:41:07 2026' ;;
*) date='Mi  2 Dez 20:41:07 2026' ;;
esac
echo "  4711     1  4711 Ss   $date"
`;

it('reads the start of a process under any locale', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ps-'));
  writeFileSync(join(folder, 'ps'), germanPs);
  chmodSync(join(folder, 'ps'), 0o755);
  vi.stubEnv('PATH', `${folder}:${PATH}`);
  vi.stubEnv('LC_ALL', LC_ALL === 'C' ? 'de_DE.UTF-8' : (LC_ALL ?? 'de_DE.UTF-8'));
  const { processEntry } = await import('../../../../src/run/processes/process-table.ts');
  expect(processEntry(4711)).toEqual({
    pid: 4711,
    parent: 1,
    group: 4711,
    session: 0,
    startedAt: new Date(2026, 11, 2, 20, 41, 7).getTime(),
    state: 'S',
    isAlive: true,
  });
});

it.runIf(hasPs)('shows this process, the same each time, and none that is not there', async () => {
  const { processEntry } = await import('../../../../src/run/processes/process-table.ts');
  const entry = processEntry(process.pid);
  expect(entry).toMatchObject({ pid: process.pid, parent: process.ppid, isAlive: true });
  expect(processEntry(process.pid)?.startedAt).toBe(entry?.startedAt);
  expect(entry?.startedAt).toBeGreaterThan(0);
  expect(processEntry(999_999_999)).toBeNull();
});

it.runIf(hasPs)('finds and ends a command with what it has left behind', async () => {
  const { SeenTree } = await import('../../../../src/run/processes/seen-tree.ts');
  const command = spawn('sh', ['-c', '(trap "" TERM; sleep 60; :) & wait'], {
    detached: true,
  });
  const running = { pid: command.pid ?? 0, isForeground: false, hasNamespace: false };
  const tree = new SeenTree(running);
  await eventually('all three', () => tree.countAlive() === 3);
  const ended = new Promise((resolve) => command.once('exit', (_, signal) => resolve(signal)));
  tree.stop('SIGTERM');
  expect(await ended).toBe('SIGTERM');
  expect(tree.isEmpty()).toBe(false);
  expect(await tree.kill()).toEqual([]);
  expect(tree.countAlive()).toBe(0);
});
