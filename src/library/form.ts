// The form of the lock that a call asks for: its resources, its mode (exclusive, shared, slots),
// and whether it gives up its position to a newer waiter. The rules are those of the command line.
// One slot is an exclusive lock, as `--slots 1` is.

import { alone, type Claim } from '../lock/types.ts';
import { onSomeSlot } from '../lock/value.ts';
import { objectionToNames } from '../redis/keys.ts';
import { usageError } from './messages.ts';
import type { AcquireOptions, Resources } from './options.ts';

export type Form = Pick<Claim, 'resources' | 'sharing' | 'preemptible'>;

/** @throws RedlockError `usage` */
export function formOf(given: Resources, options: AcquireOptions): Form {
  const resources = namesIn(given);
  const { shared = false, slots = 1, supersede = false } = options;
  const preemptible = supersede ? 'position' : 'never';
  if (slots === 1)
    return { resources, sharing: shared ? { kind: 'shared' } : alone.sharing, preemptible };
  if (resources.length > 1)
    throw usageError('slots: with several names: slots are for one name (leave one out)');
  if (shared)
    throw usageError('slots: with shared: a shared lock has no limit of holders (leave one out)');
  return { resources, sharing: onSomeSlot(slots, Math.random), preemptible };
}

/** A copy, because the caller may change the array afterwards. */
function namesIn(given: unknown): readonly string[] {
  const names: unknown[] = Array.isArray(given) ? [...given] : [given];
  if (names.length === 0) throw usageError('resource: no names in the array (give at least one)');
  if (!areTexts(names))
    throw usageError('resource: no name (give a string, or an array of strings)');
  const objection = objectionToNames(names);
  if (objection !== null) throw usageError(`resource: ${objection}`);
  return Object.freeze(names);
}

function areTexts(names: unknown[]): names is string[] {
  return names.every((name) => typeof name === 'string');
}
