// Whether a command can be executed, found out before the lock is acquired, so that a typing error
// costs no wait. It looks for the file as execvp(3) does, and runs nothing. The start itself may
// still fail, because the file may have changed by then.

import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';
import type { Finished } from './run.ts';
import type { ChildExit } from './supervisor.ts';

type CannotStart = Extract<ChildExit, { kind: 'not-found' | 'not-executable' }>;

/** null when `file` (a path, or a name looked up on PATH) is an executable file. */
export function objectionTo(file: string, searchPath: string | undefined): CannotStart | null {
  let found: CannotStart = { kind: 'not-found' };
  for (const candidate of candidatesFor(file, searchPath)) {
    const objection = objectionToFile(candidate);
    if (objection === null) return null;
    if (objection.kind === 'not-executable') found = objection;
  }
  return found;
}

function candidatesFor(file: string, searchPath = '/usr/local/bin:/bin:/usr/bin'): string[] {
  if (file === '') return [];
  if (file.includes('/')) return [file];
  return searchPath.split(':').map((folder) => path.join(folder || '.', file));
}

function objectionToFile(file: string): CannotStart | null {
  try {
    if (statSync(file).isDirectory()) return { kind: 'not-executable', message: 'is a directory' };
    accessSync(file, constants.X_OK);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'not-found' };
    return {
      kind: 'not-executable',
      message: code === 'EACCES' ? 'permission denied' : String(code),
    };
  }
}

/** The result of a run that ended before it asked for its lock, because of its command. */
export function endedBefore(exit: ChildExit): Finished {
  const result = { cause: { kind: 'child' }, childExit: exit, isKilled: false } as const;
  return { result, waitMs: 0, runMs: null, extensionCount: 0, fence: null, unconfirmedMs: null };
}
