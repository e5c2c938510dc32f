// The rules between options (text/option-rules.ts), for values of any layer: an error names where
// each of them was given.

import type { LockTimings, RunTimings } from '../lock/timings.ts';
import { contradictionIn, type Demand, timingMistake } from '../text/option-rules.ts';
import { renderDuration } from '../text/time.ts';
import { conflictOf, type Place } from './layer.ts';
import type { SettingKey } from './setting-table.ts';
import type { Chosen, Sources } from './sources.ts';

/**
 * `keys`: those that the program reads.
 * @throws UsageError (64), ConfigError (78)
 */
export function refuseContradictions(
  sources: Sources,
  keys: readonly SettingKey[],
  names: readonly string[],
): void {
  const places = new Map<Demand, Place | null>();
  if (names.length > 1) places.set('names', { layer: 'flag', subject: 'several NAMEs' });
  for (const key of keys) {
    const chosen = sources.get(key);
    const demand = demandOf(key, chosen);
    if (demand !== null) places.set(demand, chosen.given);
  }
  const found = contradictionIn(Object.fromEntries([...places.keys()].map((one) => [one, true])));
  if (found === null) return;
  const [one, other, why] = found;
  throw conflictOf([places.get(one) ?? null, places.get(other) ?? null], why);
}

function demandOf(key: SettingKey, { value, given }: Chosen<unknown>): Demand | null {
  switch (key) {
    case 'shared':
    case 'supersede':
    case 'replace':
    case 'isolate':
    case 'keepBackground':
      return value === true ? key : null;
    case 'slots':
      return Number(value) > 1 ? key : null;
    case 'protocol':
      return value === 'setnx' || value === 'setnx-ms' ? value : null;
    case 'wait':
    case 'retryCount':
      // Of other layers the nearer one wins.
      return given?.layer === 'flag' ? key : null;
    default:
      return null;
  }
}

/**
 * `places`: where the timings were given. `isExtended`: see dangerOf.
 * @throws UsageError (64), ConfigError (78)
 */
export function refuseTimings(
  timings: LockTimings | RunTimings,
  isExtended: boolean,
  places: readonly (Place | null)[],
): void {
  const shown = {
    ttl: renderDuration(timings.ttlMs),
    ...('graceMs' in timings ? { killAfter: renderDuration(timings.graceMs) } : {}),
    masterTimeout: renderDuration(timings.masterTimeoutMs),
  };
  const mistake = timingMistake(timings, isExtended, shown);
  if (mistake !== null) throw conflictOf(places, mistake);
}
