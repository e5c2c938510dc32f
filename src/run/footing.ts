// What a command stands on when its process is there before it is: the folder, the program and its interpreter, as they were when the process
// was made. It starts nobody. The surprise: whatever has changed by then is no trouble; the command is started in the usual way, which
// sees what is there now, and says what is not.

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { programFor } from './command.ts';
import type { Environment } from './subprocess.ts';

export type Footing = readonly { readonly path: string; readonly identity: string }[];

/** Of a program for the kernel, and of one that names its interpreter. Anything else is left to a shell, by each in its own way. */
const elf = '\x7fELF';
const shebang = /^#! *([^ \t\n]+)/;

/** null where a shell might start something else than the system would, or with other rights. */
export function footingOf([file = '']: readonly string[], { PATH }: Environment): Footing | null {
  // A shell looks for it elsewhere without a PATH, and takes -x for an option of its own. Some drop rights that were lent.
  if (file.startsWith('-') || (!file.includes('/') && !PATH)) return null;
  if (process.getuid?.() !== process.geteuid?.() || process.getgid?.() !== process.getegid?.()) return null;
  const program = programFor(file, PATH);
  const head = program === null ? '' : headOf(program);
  const interpreter = shebang.exec(head)?.[1];
  if (program === null || !(interpreter ? programFor(interpreter, PATH) : head.startsWith(elf))) return null;
  const folder = process.cwd();
  return [
    { path: folder, identity: placeOf(folder) },
    ...[program, ...(interpreter ? [interpreter] : [])].map((path) => ({ path, identity: identityOf(path) })),
  ];
}

/** It does now what it would have done then. */
export function isUnchanged([folder, ...files]: Footing): boolean {
  try {
    if (folder?.identity !== placeOf(folder?.path ?? '')) return false;
    return files.every(({ path, identity }) => identityOf(path) === identity);
  } catch {
    return false; // It is gone.
  }
}

/** Of a folder, in which files may come and go. */
function placeOf(path: string): string {
  const { dev, ino } = statSync(path);
  return `${dev} ${ino}`;
}

function identityOf(path: string): string {
  const { dev, ino, mode, uid, gid, size, mtimeMs } = statSync(path);
  return [dev, ino, mode, uid, gid, size, mtimeMs].join(' ');
}

/** Its first bytes; the longest line that kernels read for an interpreter is 256. */
function headOf(path: string): string {
  const bytes = Buffer.alloc(256);
  const file = openSync(path, 'r');
  try {
    return bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}
