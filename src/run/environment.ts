// The environment of the command: the caller's, and what tells it about its lock. The surprise: ours are set last, so that
// in nested runs the command sees the inner lock.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import { parseValue } from '../lock/holder.ts';
import type { Lease } from '../lock/redlock.ts';
import { markerName } from './tree/tree.ts';

/** The names of REDLOCK_HELD, outermost first. */
export function heldNames(environment: NodeJS.ProcessEnv): string[] {
  const held = environment.REDLOCK_HELD ?? '';
  return held === '' ? [] : held.split(',').map(decoded);
}

/** `runId` marks everything that the command starts; nested runs append theirs, so that the outer one finds them too. */
export function childEnvironment(
  environment: NodeJS.ProcessEnv,
  { claim, fence }: Lease,
  runId: string,
): NodeJS.ProcessEnv {
  const { resources } = claim;
  const held = [...heldNames(environment).filter((name) => !resources.includes(name)), ...resources];
  return {
    ...environment,
    // Set to nothing and not left out: a number of an outer lock would pass for ours.
    REDLOCK_FENCE: fence === null ? '' : String(fence),
    REDLOCK_NAME: resources[0],
    REDLOCK_NAMES: resources.map(encoded).join(','),
    REDLOCK_TOKEN: parseValue(claim.value).token,
    REDLOCK_TTL_MS: String(claim.ttlMs),
    REDLOCK_HELD: held.map(encoded).join(','),
    [markerName]: [environment[markerName], runId].filter(Boolean).join(':'),
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

/** Percent-encodes what would break the list: commas, percent signs, white space and control characters. */
function encoded(name: string): string {
  return name.replace(/[%,\s\p{Cc}]/gu, encodeURIComponent);
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
