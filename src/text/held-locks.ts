// REDLOCK_HELD and REDLOCK_HELD_LEASES: the locks of the runs around a process, in its environment.
// REDLOCK_HELD is for operators and scripts; REDLOCK_HELD_LEASES has the tokens, fencing numbers,
// ttls, slots and processes of the same locks in the same order. *Note:* the environment proves
// nothing, since it outlives the run that wrote it. Code that relies on it must check that the
// process is still above this one, or ask the masters.

import { alone, type Lease, type Sharing } from '../lock/types.ts';
import type { IsHeldAround, ShownHolder } from '../lock/wait.ts';

/** A lock that an enclosing run has acquired, as its environment describes it. */
export interface EnclosingLease extends Pick<Lease, 'fence'> {
  readonly names: readonly string[];
  /** Empty where it is unknown. */
  readonly token: string;
  readonly ttlMs: number;
  readonly sharing: Sharing;
  /** The process of the run; empty where it is unknown. */
  readonly holder: string;
}

/** Outermost first. `lease`: as in REDLOCK_HELD_LEASES; empty where it is unknown. */
function heldIn({ REDLOCK_HELD, REDLOCK_HELD_LEASES }: NodeJS.ProcessEnv) {
  const leases = listIn(REDLOCK_HELD_LEASES);
  return listIn(REDLOCK_HELD).map((name, index) => ({
    name: decoded(name),
    lease: leases[index] ?? '',
  }));
}

/** The lock under all of these names that one enclosing run has acquired; null: none has. */
export function enclosingLeaseOf(
  environment: NodeJS.ProcessEnv,
  names: readonly string[],
): EnclosingLease | null {
  const held = heldIn(environment);
  const leases = new Set(names.map((name) => held.find((one) => one.name === name)?.lease));
  const [lease] = leases;
  if (leases.size !== 1 || lease === undefined) return null;
  const [, token = '', fence = '', ttlMs = '', slot, slotCount, holder = ''] =
    /^([\w-]+):(\d*):(\d{1,8})(?::(?:(\d+)\/(\d+))?:([\d.]*))?$/.exec(lease) ?? [];
  const sharing: Sharing = slot
    ? { kind: 'slots', slot: Number(slot), slotCount: Number(slotCount) }
    : alone.sharing;
  const times = { fence: fence === '' ? null : Number(fence), ttlMs: Number(ttlMs) };
  return { names, token, ...times, sharing, holder };
}

/**
 * Decides whether this process is part of the holder for which an attempt was refused, so that
 * waiting for it would never end. `isOwnHold`: whether redlockctl hold holds it for a script around
 * this process. Of enclosing runs the names alone prove nothing: a daemon may have inherited the
 * list of a run that is over. So the tokens are compared; but where there are several holders, of
 * which a refusal shows only one, or the list has no tokens, the names must do.
 */
export function heldAroundOf(
  environment: NodeJS.ProcessEnv,
  names: readonly string[],
  isOwnHold: (holder: NonNullable<ShownHolder['record']>) => boolean,
): IsHeldAround {
  const tokens = heldIn(environment)
    .filter(({ name }) => names.includes(name))
    .map(({ lease }) => lease.replace(/:.*/, ''));
  const isEnclosing = ({ token, isAlone }: ShownHolder) =>
    tokens.length > 0 &&
    (!isAlone || tokens.includes('') || (token !== null && tokens.includes(token)));
  return (shown) => isEnclosing(shown) || (shown.record !== null && isOwnHold(shown.record));
}

/**
 * The two variables for a command under this lease, which is the innermost one. `nameOf`: how the
 * command has to call the process of a run.
 */
export function heldVariables(
  environment: NodeJS.ProcessEnv,
  { claim, fence }: Lease,
  holder: string,
  nameOf: (holder: string) => string,
): NodeJS.ProcessEnv {
  const { sharing, resources } = claim;
  const slot = sharing.kind === 'slots' ? `${sharing.slot}/${sharing.slotCount}` : '';
  const ours = [claim.token, fence ?? '', claim.ttlMs, slot, nameOf(holder)].join(':');
  const held = [
    ...heldIn(environment)
      .filter(({ name }) => !resources.includes(name))
      .map(({ name, lease }) => ({ name, lease: lease.replace(/[^:]*$/, nameOf) })),
    ...resources.map((name) => ({ name, lease: ours })),
  ];
  return {
    REDLOCK_HELD: encodedList(held.map(({ name }) => name)).join(','),
    REDLOCK_HELD_LEASES: held.map(({ lease }) => lease).join(','),
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
