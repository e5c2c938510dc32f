// The events that a run reports beside those of its lock. They decide nothing.

import type { LockEvent } from '../lock/events.ts';
import type { ChildExit, Signal, StopReason } from './supervisor.ts';

export type RunEvent =
  | LockEvent
  | { readonly kind: 'child-started'; readonly pid: number | undefined }
  | { readonly kind: 'child-exited'; readonly exit: ChildExit; readonly runMs: number }
  | { readonly kind: 'relayed'; readonly signal: Signal }
  /** `validMs`: what is left of validity; `unconfirmedMs`: the time since the last confirmation. */
  | {
      readonly kind: 'stopping';
      readonly cause: StopReason;
      readonly signal: Signal;
      readonly validMs: number;
      readonly unconfirmedMs: number;
    }
  /**
   * The command has ended, and at the release no quorum showed our value: another holder had the
   * lock, or it was only missing.
   */
  | { readonly kind: 'lost-at-release' }
  | { readonly kind: 'missing-at-release' }
  | { readonly kind: 'killed' }
  /** The command has ended, and so many processes that it started have not. */
  | { readonly kind: 'leftovers'; readonly count: number; readonly isKept: boolean }
  /** These cannot be killed. The lock is not released, and expires after `remainingMs`. */
  | { readonly kind: 'unkillable'; readonly pids: readonly number[]; readonly remainingMs: number }
  /** The guard died and another one has been started. */
  | { readonly kind: 'guard-restarted' }
  /** A master that refuses INFO or ROLE: it votes, and cannot be checked. */
  | { readonly kind: 'master-unidentified'; readonly master: string }
  /** Another clock ran ahead of ours: the machine slept, or its time was set. */
  | { readonly kind: 'clock-jumped'; readonly ms: number };

export type ReportRun = (event: RunEvent) => void;
