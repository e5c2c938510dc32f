// Users by their numbers: which one we are, and what another one is called.

import { readFileSync } from 'node:fs';

/** The number of the user that we act as; null on systems without such numbers. */
export function callerId(): number | null {
  return process.geteuid?.() ?? null;
}

/** `nobody (uid 65534)`, or the number alone where no name can be had. */
export function userOf(uid: number): string {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    const name = lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0];
    if (name) return `${name} (uid ${uid})`;
  } catch {
    // The number says it too.
  }
  return `uid ${uid}`;
}
