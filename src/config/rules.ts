// The rules between options (text/option-rules.ts), for values of any layer: an error names where
// each of them was given.

import type { LockTimings, RunTimings } from '../lock/timings.ts';
import { contradictionIn, timingMistake } from '../text/option-rules.ts';
import { renderDuration } from '../text/time.ts';
import { errorWith, type Place } from './layer.ts';
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
  const places = new Map<string, Place | null>();
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

function demandOf(key: SettingKey, { value, given }: Chosen<unknown>): string | null {
  if (key === 'protocol') return String(value);
  if (key === 'slots') return Number(value) > 1 ? key : null;
  // Of other layers the nearer one wins.
  if (key === 'wait' || key === 'retryCount') return given?.layer === 'flag' ? key : null;
  return value === true ? key : null;
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

/**
 * The error for values that contradict one another, with the place of each: exit 64 when one is on
 * the command line, else 78. `places`: null for a default.
 */
function conflictOf(places: readonly (Place | null)[], why: string) {
  const given = places.filter((place) => place !== null);
  const layer = given.some((place) => place.layer === 'flag') ? 'flag' : 'file';
  return errorWith({ layer, subject: given.map((place) => place.subject).join(': with ') }, why);
}
