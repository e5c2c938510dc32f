// Users: which one this program acts as, and their names. The system knows them by number.

import { readFileSync } from 'node:fs';
import os from 'node:os';

/** The number of the user that this process acts as; null on systems without such numbers. */
export function callerId(): number | null {
  return process.geteuid?.() ?? null;
}

/** The caller's own name; where there is none, as in containers, `uid 1000`. */
export function userName(): string {
  try {
    if (process.versions.bun === undefined) return os.userInfo().username;
    // Bun, in the standalone executable, only reads the environment.
    const name = nameOf(process.getuid?.());
    if (name !== undefined) return name;
  } catch {
    // The number says it too.
  }
  return `uid ${process.getuid?.() ?? 'unknown'}`;
}

/** Another user: `nobody (uid 65534)`, or `uid 65534` where no name is found. */
export function userOf(uid: number): string {
  try {
    const name = nameOf(uid);
    if (name !== undefined) return `${name} (uid ${uid})`;
  } catch {
    // The number says it too.
  }
  return `uid ${uid}`;
}

/** Throws where the system keeps no such file; undefined for a user that it does not list. */
function nameOf(uid: number | undefined): string | undefined {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const fields = lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid));
  return fields?.[0] || undefined;
}
