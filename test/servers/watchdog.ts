// Cleans up after a test process that is killed. A shell reads the pids of child processes from a
// pipe that only the test process holds; when the pipe closes, it kills them and removes the
// folder. It runs in a session of its own, because Ctrl-C at the terminal must not end it before
// the servers.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from './temporary.ts';

// Each line is the whole list, so that removing a pid needs no code in the shell.
const SCRIPT = `
pids=
while IFS= read -r line; do pids=$line; done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
rm -rf -- "$1"
`;

const pids = new Set<number>();
let shell: ChildProcess | undefined;
let folder: string | undefined;

/**
 * The folder for all files of this test process; removed with it. Short enough for unix sockets.
 */
export function scratchFolder(): string {
  if (folder !== undefined) return folder;
  folder = mkdtempSync(join(temporaryFolder(), 'redlock-test-'));
  shell = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
  (shell.stdin as Socket).unref();
  shell.stdin?.on('error', () => {}); // It ends first only when it is killed.
  process.once('exit', removeScratch);
  return folder;
}

/** Removes the folder now. What was to die with this process dies. */
export function removeScratch(): void {
  if (folder === undefined) return;
  process.off('exit', removeScratch);
  rmSync(folder, { recursive: true, force: true });
  shell?.stdin?.end();
  folder = undefined;
}

/** From now on the process dies with this one. */
export function dieWithUs(pid: number): void {
  scratchFolder();
  pids.add(pid);
  tell();
}

/** The process has ended; its pid may soon be reused. */
export function forget(pid: number): void {
  pids.delete(pid);
  tell();
}

function tell(): void {
  shell?.stdin?.write(`${[...pids].join(' ')}\n`);
}
