// What is found out before the lock is asked for, so that a run that could not work costs no wait:
// whether the command can be executed, and whether enough files may be opened. Nothing is started
// here, and nothing is locked.

import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { devNull } from 'node:os';
import path from 'node:path';
import { whyNoTable } from '../system/process-table.ts';
import { quoted } from '../text/foreign-text.ts';
import type { ChildExit } from './record.ts';

/**
 * What keeps a command from being started and is neither the user's mistake nor a bug: this machine
 * allows no guard, no isolation or too few files. Nothing is started, and nothing stays locked.
 */
export class RunError extends Error {
  override readonly name = 'RunError';
  /** As sysexits(3) has it: a support program is unavailable. */
  readonly exitCode = 69;
}

/** @throws RunError where the guard could not see the processes of the command */
export function checkProcessTable(): void {
  const why = whyNoTable();
  if (why !== null) throw new RunError(`guard: processes cannot be guarded here: ${why}`);
}

type CannotStart = Extract<ChildExit, { kind: 'not-found' | 'not-executable' }>;

/**
 * null when `file` (a path, or a name looked up on PATH) is an executable file whose interpreter is
 * one too, so that a typing error costs no wait. It looks as execvp(3) does, and runs nothing. The
 * start itself may still fail, because the file may have changed by then.
 */
export function whyCannotStart(file: string, searchPath: string | undefined): CannotStart | null {
  let found: CannotStart = { kind: 'not-found' };
  for (const candidate of candidatesFor(file, searchPath)) {
    const cannotStart = whyFileCannotStart(candidate, !file.includes('/'));
    if (cannotStart === null) return null;
    const isWorse = cannotStart.kind === 'not-executable' || found.kind === 'not-found';
    if (isWorse && !isNothing(cannotStart)) found = cannotStart;
  }
  return found;
}

/** No file of that name: execvp goes on looking, and another reason says more. */
function isNothing(exit: CannotStart): boolean {
  return exit.kind === 'not-found' && exit.interpreter === undefined;
}

function candidatesFor(file: string, searchPath = '/usr/local/bin:/bin:/usr/bin'): string[] {
  if (file === '') return [];
  if (file.includes('/')) return [file];
  return searchPath.split(':').map((folder) => path.join(folder || '.', file));
}

/** How many scripts may have one another as interpreters: execve(2). */
const maxInterpreters = 4;

/** `depth`: how many scripts have led to this one. */
function whyFileCannotStart(file: string, isFromPath: boolean, depth = 0): CannotStart | null {
  // A folder of PATH that may not be entered hides its files, for a shell too.
  let isHidden = isFromPath;
  try {
    const found = statSync(file);
    isHidden = false;
    if (found.isDirectory()) return { kind: 'not-executable', message: 'is a directory' };
    accessSync(file, constants.X_OK);
    return found.isFile() && depth < maxInterpreters ? whyNoInterpreter(file, depth) : null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'not-found' };
    if (isHidden && code === 'EACCES') return { kind: 'not-found' };
    return {
      kind: 'not-executable',
      message: code === 'EACCES' ? 'permission denied' : String(code),
    };
  }
}

/** Why the interpreter of a script cannot be started; null: it can, or `file` is no script. */
function whyNoInterpreter(file: string, depth: number): CannotStart | null {
  const interpreter = interpreterOf(file);
  const why = interpreter === null ? null : whyFileCannotStart(interpreter, false, depth + 1);
  if (interpreter === null || why === null) return null;
  if (why.kind === 'not-found') return { interpreter, ...why };
  return { ...why, message: `its interpreter ${quoted(interpreter)}: ${why.message}` };
}

/** As much of a file as the kernel looks at, in bytes. */
const headBytes = 256;

/** The interpreter in the `#!` line; null: there is none, or it cannot be read or told. */
function interpreterOf(file: string): string | null {
  // Filled with NUL, which ends a line too, as in the kernel.
  const head = Buffer.alloc(headBytes);
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      readSync(descriptor, head, 0, headBytes, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null; // It may be executed without being read.
  }
  const [, interpreter = '\ufffd'] = /^#![ \t]*([^ \t\n\0]+)[ \t\n\0]/.exec(String(head)) ?? [];
  return interpreter.includes('\ufffd') ? null : interpreter;
}

/** The connection for commands and the one for subscriptions. */
const perMaster = 2;
/** The sockets of the guard and of its start, and files that are read during that time. */
const besides = 12;

/**
 * Throws (see areTooFew) where a run may not open as many files as it needs: without them it could
 * neither start the command nor load the code that releases. The limit alone says little, since
 * files may be open already. So as many as needed are opened and closed again, in less than a tenth
 * of a millisecond.
 */
export function checkDescriptors(masterCount: number): void {
  const opened: number[] = [];
  try {
    for (let count = 0; count < masterCount * perMaster + besides; count += 1)
      opened.push(openSync(devNull, 'r'));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Whether an error says that too few files may be open, in this process or on the machine. */
export function areTooFew(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(String((error as NodeJS.ErrnoException | null)?.code));
}

export const tooFew = 'open files: too few are allowed (raise the limit: ulimit -n)';
