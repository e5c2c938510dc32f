// A run of nothing, made by whoever waits for his turn: being called, the lock, the start of a command and its end, the sweep and the
// release all happen once, on a master that is not there and with a command that cannot be started. It decides nothing and nobody
// is told of it. The surprise: code that runs for the first time takes several times as long, and here that would be at the moment
// at which the lock is handed over.

import { acquire } from '../lock/acquire.ts';
import type { AcquireReply, Claim, Clock, Master, Random } from '../lock/ports.ts';
import { Redlock } from '../lock/redlock.ts';
import { Run, type RunParts, type RunSettings } from './run.ts';

export interface RehearsalParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly newClaim: () => Claim;
  /** Must fail to start anything. */
  readonly startChild: RunParts['startChild'];
  readonly recordOf: RunParts['recordOf'];
  /** The guard is to rehearse as well. */
  readonly rehearseGuard: () => void;
}

/** Never rejects: what goes wrong here does so again when it matters, and is told then. */
export async function rehearse(
  settings: RunSettings & { readonly masterTimeoutMs: number },
  parts: RehearsalParts,
): Promise<void> {
  const { clock } = parts;
  const report = () => {};
  const redlock = new Redlock([new Pretender(clock)], clock, { ...settings, reserveMs: 0 }, report);
  const run = new Run(settings, {
    ...parts,
    redlock,
    report,
    guard: { arm: parts.rehearseGuard, watch: () => {}, done: () => {} },
    acquire: (aborted) =>
      acquire({ ...parts, redlock, report, waiterId: '', recordOf: () => null }, { ...patience, aborted }),
    suspendUs: () => {},
  });
  await run.start().catch(() => {});
}

const patience = { waitMs: null, giveUpAfterMs: 1_000 };
/** Long enough for whoever has been refused to be waiting by then. */
const calledAfterMs = 10;

/** A master that has us wait, calls us, grants everything from then on, and keeps nothing. */
class Pretender implements Master {
  readonly name = 'none';
  readonly #clock: Clock;
  #hasCalled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async acquire(): Promise<AcquireReply> {
    if (this.#hasCalled) return { kind: 'granted', fence: 1 };
    return { kind: 'refused', holder: 'somebody', remainingMs: null, place: 0, masterTimeUs: 1 };
  }

  async listen(_claim: Claim, onCall: () => void) {
    this.#clock.sleep(calledAfterMs).then(() => {
      this.#hasCalled = true;
      onCall();
    });
    return { close: () => {} };
  }

  async extend() {
    return { kind: 'gone' } as const;
  }

  async heal() {
    return { kind: 'taken' } as const;
  }

  async release() {
    return { kind: 'released' } as const;
  }

  async giveBack() {
    return { kind: 'released' } as const;
  }

  async leaveLine() {
    return { kind: 'released' } as const;
  }
}
