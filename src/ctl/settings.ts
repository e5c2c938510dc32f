// What redlockctl has to know of the configuration: the masters, and the times that decide who counts as silent and who has just
// restarted. Nothing of how a run ends. The surprise: `ttl` is the one that redlock-run would use under the same configuration;
// locks that were taken with another show it only by what is left of them.

import type { Flags } from '../cli/flags.ts';
import { type MasterSettings, readMasterSettings } from '../cli/master-settings.ts';
import { Sources, type Surroundings } from '../cli/sources.ts';
import { readBoolean, readPatience, readPositiveDuration, readTtl } from '../cli/values.ts';
import { runTimings } from '../lock/timings.ts';

export interface CtlSettings extends MasterSettings {
  readonly ttlMs: number;
  /** How long `acquire` waits; null: for ever. */
  readonly waitMs: number | null;
  /** Whether `hold` leaves a line in the history of the lock. */
  readonly hasHistory: boolean;
  /** How long one master may take to answer one question. */
  readonly masterTimeoutMs: number;
}

/** @throws UsageError (64), ConfigError (78) */
export async function readSettings(flags: Flags, around: Surroundings): Promise<CtlSettings> {
  const sources = await Sources.read(flags, around);
  const ttlMs = sources.get('ttl', readTtl)?.value ?? 30_000;
  const masterTimeoutMs = sources.get('masterTimeout', readPositiveDuration)?.value ?? null;
  const timings = runTimings(ttlMs, masterTimeoutMs, null);
  const waitMs = sources.must('wait', readPatience);
  const hasHistory = sources.must('history', readBoolean);
  const masters = await readMasterSettings(sources, ttlMs);
  return { ...masters, ttlMs, waitMs, hasHistory, masterTimeoutMs: timings.masterTimeoutMs };
}
