// What the scripts of scripts.ts are told after their keys, word by word in the order in which they read them. It knows
// no connection and sends nothing. The surprise: an empty word stands for "there is none", since a script has no null.

import type { Claim, Waiter } from '../lock/ports.ts';
import { historyKeyOf } from './keys.ts';

export type Words = readonly (string | number)[];

/** Counters are kept so long after their last use; a new one starts above them, so this bounds memory and nothing else. */
const counterKeptMs = 24 * 60 * 60 * 1000;

/** A release or a giving back. */
export interface Undoing {
  readonly claim: Claim;
  /** How long the key is left standing, in milliseconds; 0: removed at once. */
  readonly keepMs: number;
  /** For the history; null: nothing. */
  readonly record: string | null;
  readonly staysInLine: boolean;
}

/** Of the key alone: a place may have been taken anew since. */
export function withoutPlace(undoing: Undoing): Undoing {
  return { ...undoing, claim: { ...undoing.claim, waiter: null }, staysInLine: true };
}

/** What acquire is told. */
export function toAcquire({ value, ttlMs, isFenced, waiter }: Claim, channels: string): Words {
  return [value, ttlMs, isFenced ? counterKeptMs + ttlMs : 0, ...placeOf(waiter), channels];
}

/** What extend and heal are told. */
export function toExtend({ value, ttlMs }: Claim, fence: number | null): Words {
  return [value, ttlMs, fence === null ? 0 : counterKeptMs + ttlMs, fence ?? 0];
}

/** What release is told; who stays in line names his arrival, who leaves does not. */
export function toRelease({ claim, keepMs, record, staysInLine }: Undoing, channels: string, prefix: string): Words {
  const [id, arrivalUs] = placeOf(claim.waiter);
  const line = record === null ? ['', ''] : [record, historyKeyOf(prefix, claim.resource)];
  return [claim.value, keepMs, id, staysInLine ? arrivalUs : '', channels, ...line];
}

/** Our place in the queue: id and arrival. */
function placeOf(waiter: Waiter | null): [string, string | number] {
  return waiter === null ? ['', ''] : [waiter.id, waiter.arrivalUs];
}
