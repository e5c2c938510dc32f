// The settings of every verb: the masters, what a lock needs, and its timings.

import type { OptionValues } from '../config/arguments.ts';
import type { ExecutionContext } from '../config/execution-context.ts';
import type { Place } from '../config/layer.ts';
import { type MasterSettings, readMasterSettings } from '../config/masters.ts';
import { refuseContradictions } from '../config/rules.ts';
import type { ValuesOf } from '../config/setting-table.ts';
import { Sources } from '../config/sources.ts';
import { heldTimings, type LockTimings } from '../lock/timings.ts';

const keys = [
  'ttl',
  'localDirectory',
  'prefix',
  'protocol',
  'masterTimeout',
  'restartGrace',
  'differingMasters',
  'shared',
  'fencing',
  'history',
  'historyBytes',
  'note',
  'label',
  'wait',
  'conflictExitCode',
  'giveUpAfter',
] as const;

type Values = ValuesOf<(typeof keys)[number]>;

/**
 * The ttl is what redlock-run would use under the same configuration; of a lock that was acquired
 * with another one only the remaining time is known.
 */
export interface CtlSettings
  extends Omit<Values, keyof LockTimings | keyof MasterSettings>,
    LockTimings,
    MasterSettings {
  /** Where the timings were given, for a verb that cannot keep a lock by them. */
  readonly timingPlaces: readonly (Place | null)[];
}

/** @throws UsageError (64), ConfigError (78) */
export async function readSettings(
  options: OptionValues,
  around: ExecutionContext,
): Promise<CtlSettings> {
  const sources = await Sources.read(options, around);
  const values = sources.values(keys);
  refuseContradictions(sources, keys, []);
  return {
    ...values,
    ...heldTimings(values.ttlMs, values.masterTimeoutMs),
    ...(await readMasterSettings(sources, values)),
    isFenced: values.isFenced && values.protocol === 'redlock',
    timingPlaces: [sources.get('ttl').given, sources.get('masterTimeout').given],
  };
}
