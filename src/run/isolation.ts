// --isolate: a PID namespace around the command, by unshare(1), that nothing can leave and that dies
// as a whole. Linux only, opt-in, and tried out before the lock is taken.
//
// Note: the first process of a namespace ignores signals that it does not handle, and when it ends
// all others are killed at once. A shell plays that part: it runs the command in the foreground,
// tells its exit code over a pipe, and stays until the pipe closes, so that what the command left
// can be ended politely. A reader of that pipe in the background ends everything when it closes,
// which is when the guard is done, or has died.

import { spawnSync } from 'node:child_process';
import os from 'node:os';
import type { Readable } from 'node:stream';
import type { ChildExit, Signal } from './supervisor.ts';
import { RunTrouble } from './trouble.ts';

/** The descriptor of the pipe in the first process; the command does not get it. */
export const statusDescriptor = 3;

/** Words to put in front of a command. */
export type Isolation = readonly string[];

/**
 * The reader is the second process of the namespace and the command the third (kept-tree.ts counts
 * on it). In a subshell and with exec, so that a command called `exit` or `echo` is a program.
 */
const reader = `{ read -r _; kill -KILL -1; } <&${statusDescriptor}`;
const tell = `{ echo $? >&${statusDescriptor}; } 2>/dev/null`;
const command = `(exec "$@" ${statusDescriptor}>&-); ${tell}`;
const init = `${reader} & ${command}; wait`;

/**
 * Root may make a PID namespace; others may in a user namespace, in which they stay who they are. /proc has to agree with the
 * numbers that processes have inside, or a nested redlock-run would read there of one process and kill another. All other
 * mounts stay shared.
 */
const plain = [
  'unshare',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
  '--propagation',
  'unchanged',
];
const asUser = [...plain, '--user', '--map-current-user'];

/** @throws RunTrouble where this machine does not allow it */
export function findIsolation(): Isolation {
  const candidates = process.getuid?.() === 0 ? [plain, asUser] : [asUser];
  let trouble = '';
  for (const words of process.platform === 'linux' ? candidates : []) {
    const found = tryOut(words);
    if (found === null) return [...words, '--', '/bin/sh', '-c', init, 'redlock-isolate'];
    trouble ||= found;
  }
  const why = trouble || 'there are no PID namespaces on this system';
  throw new RunTrouble(
    `--isolate: not possible on this machine: ${why} (leave it out, or allow PID namespaces)`,
  );
}

/** null when it works; otherwise why not, in the words of unshare. */
function tryOut([program = '', ...words]: readonly string[]): string | null {
  const trial = spawnSync(
    program,
    [...words, '--', '/bin/sh', '-c', 'test $$ = 1 && test -e /proc/1'],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 10_000,
    },
  );
  if (trial.error)
    return `${program}: ${(trial.error as NodeJS.ErrnoException).code === 'ENOENT' ? 'not found' : trial.error.message}`;
  return trial.status === 0
    ? null
    : (trial.stderr.split('\n')[0] ?? '') || `unshare ended with ${trial.status}`;
}

/** A shell cannot tell death by one of these from its number; taken for death, it stops a shell's loop around us. */
const raised: readonly Signal[] = ['SIGHUP', 'SIGINT', 'SIGTERM'];

/** The end of the command as the first process tells it; never resolves when that is killed before. */
export function exitInside(status: Readable): Promise<ChildExit> {
  return new Promise((resolve) => {
    let text = '';
    status.on('error', () => {});
    status.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (!text.endsWith('\n')) return;
      const code = Number.parseInt(text, 10);
      const signal = raised.find((candidate) => os.constants.signals[candidate] === code - 128);
      resolve(signal ? { kind: 'signaled', signal } : { kind: 'exited', code });
    });
  });
}
