// The environment of the command: the caller's, and the variables that describe the lock. These are
// set last, so that the command of a nested run sees the inner lock.

import type { Lease } from '../lock/redlock.ts';
import { parseValue } from '../lock/value.ts';
import { encodedList, heldVariables } from './held.ts';

export function childEnvironment(environment: NodeJS.ProcessEnv, lease: Lease): NodeJS.ProcessEnv {
  const { claim, fence } = lease;
  const { resources } = claim;
  return {
    ...environment,
    // Empty and not left out: the number of an enclosing lock would pass for that of this one.
    REDLOCK_FENCE: fence === null ? '' : String(fence),
    REDLOCK_NAME: resources[0],
    REDLOCK_NAMES: encodedList(resources).join(','),
    REDLOCK_TOKEN: parseValue(claim.value).token,
    REDLOCK_TTL_MS: String(claim.ttlMs),
    ...heldVariables(environment, lease),
  };
}
