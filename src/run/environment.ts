// The environment of the command: the caller's, and what tells it about its lock. Ours are set last,
// so that in nested runs the command sees the inner lock.

import type { Lease } from '../lock/redlock.ts';
import { parseValue } from '../lock/value.ts';
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
