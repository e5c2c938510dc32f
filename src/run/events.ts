// What a run tells an onlooker beside what its lock tells. Nothing here decides anything.

import type { LockEvent } from '../lock/events.ts';
import type { Cause, ChildExit, Signal } from './supervisor.ts';

export type RunEvent =
  | LockEvent
  | { readonly kind: 'child-started'; readonly pid: number | undefined }
  | { readonly kind: 'child-exited'; readonly exit: ChildExit; readonly runMs: number }
  | { readonly kind: 'relayed'; readonly signal: Signal }
  /** `validMs`: what is left of validity; `unprovenMs`: since the last proof that the lock is ours. */
  | {
      readonly kind: 'stopping';
      readonly cause: Cause;
      readonly signal: Signal;
      readonly validMs: number;
      readonly unconfirmedMs: number;
    }
  /** The command has ended, and when the lock was released a quorum did not show it as ours: somebody else had it, or it was only gone. */
  | { readonly kind: 'lost-at-release' }
  | { readonly kind: 'missing-at-release' }
  | { readonly kind: 'killed' }
  /** The command has ended and so many processes that it started have not. */
  | { readonly kind: 'leftovers'; readonly count: number; readonly isKept: boolean }
  /** These may not be killed by us. The lock is not released, and expires so much later. */
  | { readonly kind: 'unkillable'; readonly pids: readonly number[]; readonly remainingMs: number }
  /** The guard died and another one has been started. */
  | { readonly kind: 'guard-restarted' }
  /** Another clock ran ahead of ours: the machine slept, or its time was set. */
  | { readonly kind: 'clock-jumped'; readonly ms: number };

export type ReportRun = (event: RunEvent) => void;
