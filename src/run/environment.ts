// The environment of the command: the caller's, and what tells it about its lock. Ours are set last,
// so that in nested runs the command sees the inner lock.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import { parseValue } from '../lock/holder.ts';
import type { Lease } from '../lock/redlock.ts';
import { encodedList, heldVariables } from './held.ts';

export function childEnvironment(environment: NodeJS.ProcessEnv, lease: Lease): NodeJS.ProcessEnv {
  const { claim, fence } = lease;
  const { resources } = claim;
  return {
    ...environment,
    // Set to nothing and not left out: a number of an outer lock would pass for ours.
    REDLOCK_FENCE: fence === null ? '' : String(fence),
    REDLOCK_NAME: resources[0],
    REDLOCK_NAMES: encodedList(resources).join(','),
    REDLOCK_TOKEN: parseValue(claim.value).token,
    REDLOCK_TTL_MS: String(claim.ttlMs),
    ...heldVariables(environment, lease),
  };
}

/** The user's name for the note in the lock; a uid without a name (as in containers) is told by number. */
export function userName(): string {
  try {
    // Bun, in the standalone executable, only knows what the environment says.
    return process.versions.bun ? namedByPasswd() : os.userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Throws where the system keeps no such file, or the user is in a directory elsewhere. */
function namedByPasswd(): string {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [name] = lines.map((line) => line.split(':')).find(([, , uid]) => uid === String(process.getuid?.())) ?? [];
  if (!name) throw new Error('a uid without a name');
  return name;
}
