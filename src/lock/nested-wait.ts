// The wait for a lock inside of a command that a run guards. If an enclosing run holds the lock,
// this process would wait for itself. So it looks once, and waits only where another client holds
// the lock.

import { parseValue } from './value.ts';
import type { Acquisition, Retries } from './wait.ts';

/**
 * Whether an enclosing run is the holder that a refusal shows. `token`: of that holder; null: it
 * has none.
 */
export type IsHeldAround = (shown: {
  readonly token: string | null;
  readonly holderCount: number;
}) => boolean;

export interface Attempts {
  /** null: for ever. */
  readonly waitMs: number | null;
  readonly retries: Retries | null;
}

/** `isHeldAround`: null where no run around this process has a name of this lock. */
export async function waitUnlessNested(
  isHeldAround: IsHeldAround | null,
  wait: (limits: Attempts) => Promise<Acquisition>,
  limits: Attempts,
): Promise<Acquisition> {
  if (isHeldAround === null) return wait(limits);
  const acquisition = await wait({ waitMs: 0, retries: null });
  if (acquisition.kind !== 'busy') return acquisition;
  const { holder, holderCount } = acquisition;
  if (isHeldAround({ token: parseValue(holder).token, holderCount })) return { kind: 'nested' };
  return limits.waitMs === 0 ? acquisition : wait(limits);
}
