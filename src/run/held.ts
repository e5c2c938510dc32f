// What a command is told of all the locks around it, and what a nested run reads of that: names,
// tokens, fencing numbers, validities. Two variables, REDLOCK_HELD for people and scripts and
// REDLOCK_HELD_LEASES for nested runs, name the same locks in the same order. The environment
// proves nothing, since it outlives the run that wrote it: what relies on it asks the masters.

import type { EnclosingLease, Lease } from '../lock/types.ts';
import { parseValue } from '../lock/value.ts';

/** The names of REDLOCK_HELD, outermost first. */
export function heldNames(environment: NodeJS.ProcessEnv): string[] {
  return listIn(environment.REDLOCK_HELD).map(decoded);
}

/** The lock under all of these names that one run around us has taken; null: none has. */
export function enclosingLeaseOf(
  environment: NodeJS.ProcessEnv,
  names: readonly string[],
): EnclosingLease | null {
  const held = heldNames(environment);
  const leases = listIn(environment.REDLOCK_HELD_LEASES);
  const entries = new Set(
    names.map((name) => (held.includes(name) ? (leases[held.indexOf(name)] ?? '') : null)),
  );
  const [entry] = entries;
  if (entries.size !== 1 || entry === null) return null;
  const [, token = '', fence = '', ttlMs = ''] =
    /^([\w-]+):(\d*):(\d{1,8})$/.exec(entry ?? '') ?? [];
  return { names, token, fence: fence === '' ? null : Number(fence), ttlMs: Number(ttlMs) };
}

/**
 * Whether the lock that a refused attempt met is held by a run around this one, so that waiting
 * for it would never end. A list that an earlier run has left behind in a daemon names the lock,
 * but not the token of its holder.
 *
 * Of several holders a refusal shows only one, and a list without tokens names none: then the names
 * alone count. `holder` is its value on the masters.
 */
export function isHeldAround(
  environment: NodeJS.ProcessEnv,
  names: readonly string[],
  { holder, holderCount }: { readonly holder: string; readonly holderCount: number },
): boolean {
  const held = heldNames(environment);
  const leases = listIn(environment.REDLOCK_HELD_LEASES);
  const tokens = held.flatMap((name, index) =>
    names.includes(name) ? [leases[index]?.split(':')[0] ?? ''] : [],
  );
  if (tokens.length === 0) return false;
  return holderCount > 1 || tokens.includes('') || tokens.includes(parseValue(holder).token);
}

/** The same two variables for what runs under this lease as well, which is the innermost now. */
export function heldVariables(
  environment: NodeJS.ProcessEnv,
  { claim, fence }: Lease,
): NodeJS.ProcessEnv {
  const leases = listIn(environment.REDLOCK_HELD_LEASES);
  const ours = encodedList(claim.resources);
  const all = listIn(environment.REDLOCK_HELD).map((name, index) => ({
    name,
    lease: leases[index] ?? '',
  }));
  const lease = `${parseValue(claim.value).token}:${fence ?? ''}:${claim.ttlMs}`;
  const held = [
    ...all.filter(({ name }) => !ours.includes(name)),
    ...ours.map((name) => ({ name, lease })),
  ];
  return {
    REDLOCK_HELD: held.map(({ name }) => name).join(','),
    REDLOCK_HELD_LEASES: held.map((one) => one.lease).join(','),
  };
}

function listIn(text = ''): string[] {
  return text === '' ? [] : text.split(',');
}

/**
 * Percent-encodes what would break a list: commas, percent signs, white space and control
 * characters.
 */
export function encodedList(names: readonly string[]): string[] {
  return names.map((name) => name.replace(/[%,\s\p{Cc}]/gu, encodeURIComponent));
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
