// The facts about locks in steps: tickets, reported answers, and ended holds.

import type { Answer } from '../../src/ctl/steps/lock-handle.ts';
import type { Machine } from './machine.ts';
import type { SimProcess } from './sim-process.ts';

/** A lock that was reported to a shell, which goes on without the process that acquired it. */
export interface LockHandle {
  readonly resource: string;
  readonly token: string;
  readonly value: string;
}

export interface KnownHold {
  readonly name: string;
  readonly owner: SimProcess;
  readonly machine: Machine;
  /** null: it never had the lock. */
  value: string | null;
  /** In true time; null: the process still runs. */
  askerGoneAt: number | null;
  /** Of the machine, when the process ended. */
  stoppedMsBefore: number;
  end: string | null;
}

export type StepVerb = 'extend' | 'check' | 'release';

export type StepFact =
  /** `wasShown`: a quorum showed it when the step began. */
  | {
      readonly kind: 'answered';
      readonly verb: StepVerb;
      readonly handle: LockHandle;
      readonly answer: Answer;
      readonly machine: Machine;
      readonly askedAt: number;
      readonly wasShown: boolean;
    }
  | { readonly kind: 'hold-ended'; readonly hold: KnownHold };
