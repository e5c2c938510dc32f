// The environment of the command: the caller's, and the variables that describe its lock and all
// enclosing locks.

import type { Lease } from '../lock/types.ts';
import { encodedList, heldVariables } from '../text/held-locks.ts';

/** `slot`: the one that it holds; null: the lock has none. */
export function childEnvironment(
  environment: NodeJS.ProcessEnv,
  lease: Lease,
  slot: number | null,
): NodeJS.ProcessEnv {
  const { claim, fence } = lease;
  const { resources } = claim;
  return {
    ...environment,
    // Empty and not left out: what an enclosing lock has would pass for that of this one.
    REDLOCK_FENCE: fence === null ? '' : String(fence),
    REDLOCK_NAME: resources[0],
    REDLOCK_NAMES: encodedList(resources).join(','),
    REDLOCK_SLOT: slot === null ? '' : String(slot),
    REDLOCK_TOKEN: claim.token,
    REDLOCK_TTL_MS: String(claim.ttlMs),
    ...heldVariables(environment, lease),
  };
}
