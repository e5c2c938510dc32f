// --isolate: runs the command in a PID namespace, by unshare(1), which no process can leave and
// which ends as a whole. Linux only, on request, and tried out before the lock is acquired.
//
// *Note:* the first process of a namespace ignores signals that it does not handle, and its end
// kills all others. Here it is a shell: it runs the command in the foreground, writes its exit code
// into a pipe, and stays until the pipe closes, so that leftover processes can be stopped before
// they are killed. A reader of that pipe in the background kills everything when the pipe closes:
// the guard is done, or has died.

import { spawnSync } from 'node:child_process';
import os from 'node:os';
import type { Readable } from 'node:stream';
import { RunError } from './preconditions.ts';
import type { ChildExit } from './run-result.ts';
import { raisedAgain } from './signals.ts';

/** The descriptor of the pipe in the first process; the command does not get it. */
export const statusDescriptor = 3;

/** Words to put in front of a command. */
export type Isolation = readonly string[];

/**
 * The reader is the second process of the namespace and the command the third (kept-tree.ts relies
 * on it). The command is executed in a subshell, so that `exit` or `echo` is a program.
 */
const reader = `{ read -r _; kill -KILL -1; } <&${statusDescriptor}`;
const tell = `{ echo $? >&${statusDescriptor}; } 2>/dev/null`;
const command = `(exec "$@" ${statusDescriptor}>&-); ${tell}`;
const init = `${reader} & ${command}; wait`;

/**
 * Root may create a PID namespace; other users may in a user namespace, in which they keep their
 * id. /proc must show the pids of the namespace, or a nested redlock-run would read there about one
 * process and kill another. All other mounts stay shared.
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

/** @throws RunError where this machine does not allow it */
export function findIsolation(): Isolation {
  const candidates = process.getuid?.() === 0 ? [plain, asUser] : [asUser];
  let problem = '';
  for (const args of process.platform === 'linux' ? candidates : []) {
    const found = tryOut(args);
    if (found === null) return [...args, '--', '/bin/sh', '-c', init, 'redlock-isolate'];
    problem ||= found;
  }
  const why = problem || 'there are no PID namespaces on this system';
  throw new RunError(
    `--isolate: not possible on this machine: ${why} (leave it out, or allow PID namespaces)`,
  );
}

/** null when it works; otherwise the error message of unshare(1). */
function tryOut([program = '', ...args]: readonly string[]): string | null {
  const trial = spawnSync(
    program,
    [...args, '--', '/bin/sh', '-c', 'test $$ = 1 && test -e /proc/1'],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 10_000,
    },
  );
  if (trial.error) {
    const { code, message } = trial.error as NodeJS.ErrnoException;
    return `${program}: ${code === 'ENOENT' ? 'not found' : message}`;
  }
  return trial.status === 0
    ? null
    : (trial.stderr.split('\n')[0] ?? '') || `unshare ended with ${trial.status}`;
}

/**
 * The exit of the command as the first process reports it; if that is killed, never resolves. The
 * shell reports death by a signal as 128 + n, like an exit code. It is taken for death where it
 * would be raised again, so that a loop of a shell around redlock-run ends.
 */
export function exitInside(status: Readable): Promise<ChildExit> {
  return new Promise((resolve) => {
    let text = '';
    status.on('error', () => {});
    status.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (!text.endsWith('\n')) return;
      const code = Number.parseInt(text, 10);
      const signal = raisedAgain.find(
        (candidate) => os.constants.signals[candidate] === code - 128,
      );
      resolve(signal ? { kind: 'signaled', signal } : { kind: 'exited', code });
    });
  });
}
