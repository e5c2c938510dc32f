// The settings of every verb: the masters, what a lock needs, and the times after which a master
// counts as silent, or no longer as restarted.

import type { OptionValues } from '../config/arguments.ts';
import type { Place } from '../config/layer.ts';
import { type LockSettings, readLockSettings, refuseForProtocol } from '../config/lock.ts';
import { type MasterSettings, readMasterSettings } from '../config/masters.ts';
import { type ExecutionContext, Sources } from '../config/sources.ts';
import { readBoolean, readPositiveDuration, readTtl } from '../config/values.ts';
import { runTimings } from '../lock/timings.ts';

export interface CtlSettings extends MasterSettings, LockSettings {
  /**
   * What redlock-run would use under the same configuration; of a lock that was acquired with
   * another one only the remaining time is known.
   */
  readonly ttlMs: number;
  /** Whether `acquire` and `hold` share the lock with other shared holders. */
  readonly isShared: boolean;
  /** How long one master may take to answer one question. */
  readonly masterTimeoutMs: number;
  /** Where these two were given, for a verb that cannot keep a lock by them. */
  readonly timingPlaces: readonly (Place | null | undefined)[];
}

/** @throws UsageError (64), ConfigError (78) */
export async function readSettings(
  options: OptionValues,
  around: ExecutionContext,
): Promise<CtlSettings> {
  const sources = await Sources.read(options, around);
  const ttlMs = sources.must('ttl', readTtl);
  const masterTimeout = sources.get('masterTimeout', readPositiveDuration);
  const { masterTimeoutMs } = runTimings(ttlMs, masterTimeout?.value ?? null, null);
  const timingPlaces = [sources.get('ttl', readTtl)?.given, masterTimeout?.given];
  const lock = readLockSettings(sources);
  const masters = await readMasterSettings(sources, ttlMs);
  const shared = sources.get('shared', readBoolean);
  const isShared = shared?.value ?? false;
  refuseForProtocol(sources, isShared ? (shared?.given ?? null) : null);
  return { ...masters, ...lock, isShared, ttlMs, masterTimeoutMs, timingPlaces };
}
