// The environment of the command: the caller's, and the variables that describe its lock and all
// enclosing locks. Hooks get the same.

import type { Lease } from '../lock/types.ts';
import { encodedList, heldVariables } from '../text/held-locks.ts';
import { isolatedName } from './enclosing-lock.ts';

/**
 * `slot`: the one that it holds; null: the lock has none. `holder`: the process of the run that has
 * acquired it.
 */
export function childEnvironment(
  environment: NodeJS.ProcessEnv,
  lease: Lease,
  slot: number | null,
  holder: string,
  isIsolated: boolean,
): NodeJS.ProcessEnv {
  const { claim, fence } = lease;
  return {
    ...waitingEnvironment(environment, claim.resources, claim.ttlMs),
    REDLOCK_FENCE: fence === null ? '' : String(fence),
    REDLOCK_SLOT: slot === null ? '' : String(slot),
    REDLOCK_TOKEN: claim.token,
    ...heldVariables(environment, lease, holder, isIsolated ? isolatedName : (name) => name),
  };
}

/** That of a hook while the lock is not acquired. */
export function waitingEnvironment(
  environment: NodeJS.ProcessEnv,
  names: readonly string[],
  ttlMs: number,
): NodeJS.ProcessEnv {
  return {
    ...environment,
    // Empty and not left out: what an enclosing lock has would pass for that of this one.
    REDLOCK_FENCE: '',
    REDLOCK_NAME: names[0],
    REDLOCK_NAMES: encodedList(names).join(','),
    REDLOCK_SLOT: '',
    REDLOCK_TOKEN: '',
    REDLOCK_TTL_MS: String(ttlMs),
  };
}
