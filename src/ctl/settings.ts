// The settings of every verb: the masters, what a lock needs, and its timings.

import type { OptionValues } from '../config/arguments.ts';
import type { ExecutionContext } from '../config/execution-context.ts';
import { readMasterSettings } from '../config/masters.ts';
import { refuseContradictions } from '../config/rules.ts';
import { Sources } from '../config/sources.ts';
import { heldTimings } from '../lock/timings.ts';

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

export type CtlSettings = Awaited<ReturnType<typeof readSettings>>;

/**
 * The ttl is what redlock-run would use under the same configuration; of a lock that was acquired
 * with another one only the remaining time is known. `timingPlaces`: where the timings were given,
 * for a verb that cannot keep a lock by them.
 * @throws UsageError (64), ConfigError (78)
 */
export async function readSettings(options: OptionValues, around: ExecutionContext) {
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
