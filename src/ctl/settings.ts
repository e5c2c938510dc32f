// The settings that redlockctl needs: the masters, and the times after which a master counts as
// silent, or no longer as restarted. *Note:* `ttl` is what redlock-run would use under the same
// configuration; of a lock that was acquired with another one only the remaining time is known.

import type { Flags } from '../config/arguments.ts';
import { type MasterSettings, readMasterSettings } from '../config/masters.ts';
import { type ExecutionContext, Sources } from '../config/sources.ts';
import {
  readBoolean,
  readDuration,
  readPatience,
  readPositiveDuration,
  readTtl,
} from '../config/values.ts';
import { runTimings } from '../lock/timings.ts';

export interface CtlSettings extends MasterSettings {
  readonly ttlMs: number;
  /** How long `acquire` and `wait` wait; null: for ever. */
  readonly waitMs: number | null;
  /** How long `wait` goes on without a quorum that answers. */
  readonly giveUpAfterMs: number;
  /** Whether `hold` writes a line into the history of the lock. */
  readonly hasHistory: boolean;
  /** How long one master may take to answer one question. */
  readonly masterTimeoutMs: number;
}

/** @throws UsageError (64), ConfigError (78) */
export async function readSettings(flags: Flags, around: ExecutionContext): Promise<CtlSettings> {
  const sources = await Sources.read(flags, around);
  const ttlMs = sources.get('ttl', readTtl)?.value ?? 30_000;
  const masterTimeoutMs = sources.get('masterTimeout', readPositiveDuration)?.value ?? null;
  const timings = runTimings(ttlMs, masterTimeoutMs, null);
  const waitMs = sources.must('wait', readPatience);
  const giveUpAfterMs = sources.must('giveUpAfter', readDuration);
  const hasHistory = sources.must('history', readBoolean);
  const masters = await readMasterSettings(sources, ttlMs);
  return {
    ...masters,
    ttlMs,
    waitMs,
    giveUpAfterMs,
    hasHistory,
    masterTimeoutMs: timings.masterTimeoutMs,
  };
}
