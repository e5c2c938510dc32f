// The real OuterLock with a witness beside it, which is told of every query that a nested run
// relies on. It changes nothing.

import type { Clock, Report } from '../../src/lock/ports.ts';
import type { RedlockSettings } from '../../src/lock/redlock.ts';
import type { EnclosingLease, Extension, Lease } from '../../src/lock/types.ts';
import type { Acquisition } from '../../src/lock/wait.ts';
import type { EnclosingLock } from '../../src/redis/enclosing-lock.ts';
import type { Server } from '../../src/redis/server.ts';
import type { System } from './system.ts';
import type { Holding, Witness } from './witness.ts';

export interface OuterLockParts {
  readonly observers: readonly Server[];
  readonly clock: Clock;
  readonly settings: RedlockSettings;
  readonly report: Report;
}

/** `tell` is given the belief that begins with the first query. */
export function observedEnclosingLock(
  system: System,
  witness: Witness,
  enclosing: Holding,
  lease: EnclosingLease,
  { observers, clock, settings, report }: OuterLockParts,
  tell: (belief: Holding) => void,
) {
  let belief: Holding | null = null;

  class ObservedOuterLock extends system.EnclosingLock {
    override async acquire(...asked: Parameters<EnclosingLock['acquire']>): Promise<Acquisition> {
      const acquisition = await super.acquire(...asked);
      if (acquisition.kind === 'acquired') {
        if (belief === null) {
          belief = witness.nested(enclosing, clock, acquisition.lease);
          tell(belief);
        } else witness.provenAnew(belief, acquisition.lease);
      }
      return acquisition;
    }

    override async extend(held: Lease, ended: AbortSignal): Promise<Extension> {
      const extension = await super.extend(held, ended);
      if (belief && extension.kind === 'extended') witness.provenAnew(belief, extension.lease);
      if (belief && extension.kind === 'lost') belief.isBelieved = false;
      return extension;
    }
  }

  return new ObservedOuterLock(lease, observers, clock, settings, report);
}
