// The settings of a lock that both programs need: how long to wait for it, what is minted and
// stored with it, and what people are told of it.

import type { Place } from './layer.ts';
import { conflictOf, type Sources } from './sources.ts';
import {
  readBoolean,
  readDuration,
  readNote,
  readProtocol,
  readStatus,
  readWait,
} from './values.ts';

export interface LockSettings {
  /** Null: without limit; 0: one attempt. */
  readonly waitMs: number | null;
  /** How long to go on when no quorum answers. */
  readonly giveUpAfterMs: number;
  /** What the program exits with when the lock is held by someone else; 0 to 255. */
  readonly conflictExitCode: number;
  readonly isFenced: boolean;
  /** Whether a line is stored in the history of the lock. */
  readonly hasHistory: boolean;
  /** For people, on one line; null: none. */
  readonly note: string | null;
  /** What the holder record calls the holder; null: its program decides. */
  readonly label: string | null;
}

/** @throws UsageError (64), ConfigError (78) */
export function readLockSettings({ must, get }: Sources): LockSettings {
  return {
    waitMs: must('wait', readWait),
    giveUpAfterMs: must('giveUpAfter', readDuration),
    conflictExitCode: must('conflictExitCode', readStatus),
    isFenced: must('fencing', readBoolean) && must('protocol', readProtocol) === 'redlock',
    hasHistory: must('history', readBoolean),
    note: get('note', readNote)?.value ?? null,
    label: get('label', readNote)?.value ?? null,
  };
}

/**
 * The older protocols have one form of lock. `place`: where another one was asked for, or null.
 * @throws UsageError (64), ConfigError (78)
 */
export function refuseForProtocol({ get }: Sources, place: Place | null): void {
  const protocol = get('protocol', readProtocol);
  if (place === null || protocol === null || protocol.value === 'redlock') return;
  const why = `${protocol.value} has one lock at a time, held exclusively (leave one out)`;
  throw conflictOf([protocol.given, place], why);
}
