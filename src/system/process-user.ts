// Whose process a pid is, for a line about one that could not be killed.

import { readFileSync } from 'node:fs';
import { userOf } from './caller.ts';

/** Its real user, as `root (uid 0)`; null: it has ended, or the system does not show it. */
export function processUserOf(pid: number): string | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, uid] = /^Uid:\s+(\d+)/m.exec(status) ?? [];
    return uid === undefined ? null : userOf(Number(uid));
  } catch {
    return null;
  }
}
