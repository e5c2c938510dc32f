// The wait for a lock inside of a command that another run guards. If an enclosing run holds the
// lock, this run would wait for itself. So it looks once, and waits only where another client holds
// the lock.

import type { Acquisition, Retries } from '../lock/wait.ts';
import { heldNames, isHeldAround } from './environment.ts';

export interface Attempts {
  /** null: for ever. */
  readonly waitMs: number | null;
  readonly retries: Retries | null;
}

/** `environment`: of this process, which names the locks of the runs around it. */
export async function waitUnlessNested(
  environment: NodeJS.ProcessEnv,
  names: readonly string[],
  wait: (limits: Attempts) => Promise<Acquisition>,
  limits: Attempts,
): Promise<Acquisition> {
  if (!heldNames(environment).some((name) => names.includes(name))) return wait(limits);
  const acquisition = await wait({ waitMs: 0, retries: null });
  if (acquisition.kind !== 'busy') return acquisition;
  if (isHeldAround(environment, names, acquisition)) return { kind: 'nested' };
  return limits.waitMs === 0 ? acquisition : wait(limits);
}
