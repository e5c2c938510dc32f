// Which script is called for a claim, on which keys, with which words. It knows no connection and
// sends nothing.

import type { Claim, Waiter } from '../lock/types.ts';
import { markOf } from '../lock/value.ts';
import { channelsOf, historyKeyOf, keysOf } from './keys.ts';
import { plainScripts, type Scripts, scripts } from './scripts.ts';

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly words: readonly (string | number)[];
}

/** What is sent for what is wanted. */
export interface Calls {
  toAcquire(claim: Claim, prefix: string): ScriptCall;
  toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall;
  toRepair(claim: Claim, fence: number | null, prefix: string): ScriptCall;
  toRelease(undoing: Undoing, prefix: string): ScriptCall;
  /** At so many locks in one step, by those who only look. */
  toLook(resources: readonly string[], prefix: string): ScriptCall;
  /** Another value instead of this one, for the time that it had left. */
  toReplace(resource: string, value: string, by: string, prefix: string): ScriptCall;
}

/** Counters are kept so long after their last use; a new one starts above them, so this bounds memory and nothing else. */
const counterKeptMs = 24 * 60 * 60 * 1000;

/** A release or a giving back. */
export interface Undoing {
  readonly claim: Claim;
  /** How long the key is left standing, in milliseconds; 0: removed at once. */
  readonly keepMs: number;
  /** For the history; null: nothing. */
  readonly record: string | null;
  readonly keepsPosition: boolean;
}

/** Of the key alone: a place may have been taken anew since. */
export function withoutPlace(undoing: Undoing): Undoing {
  return { ...undoing, claim: { ...undoing.claim, waiter: null }, keepsPosition: true };
}

function toAcquire(claim: Claim, prefix: string): ScriptCall {
  const { value, ttlMs, isFenced, waiter, resources } = claim;
  const counter = isFenced ? counterKeptMs + ttlMs : 0;
  const words = [
    value,
    ttlMs,
    counter,
    ...placeOf(waiter),
    ...standOf(claim),
    ...channelsIn(claim, prefix),
  ];
  return { script: scriptsFor(claim).acquire, keys: keysIn(resources, prefix), words };
}

function toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  const arrival = claim.yields === 'lock' ? (claim.waiter?.arrivalUs ?? 0) : '';
  const words = [...proofOf(claim, fence), arrival];
  return { script: scriptsFor(claim).extend, keys: keysIn(claim.resources, prefix), words };
}

function toRepair(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  return {
    script: scriptsFor(claim).repair,
    keys: keysIn(claim.resources, prefix),
    words: proofOf(claim, fence),
  };
}

/** A waiter that stays in the queue names its arrival, one that leaves does not. */
function toRelease({ claim, keepMs, record, keepsPosition }: Undoing, prefix: string): ScriptCall {
  const [id, arrivalUs] = placeOf(claim.waiter);
  const place = [id, keepsPosition ? arrivalUs : ''];
  const streams = claim.resources.map((resource) =>
    record === null ? '' : historyKeyOf(prefix, resource),
  );
  const told = [record ?? '', ...channelsIn(claim, prefix), ...streams];
  const words = [claim.value, keepMs, ...place, ...standOf(claim), ...told];
  return { script: scriptsFor(claim).release, keys: keysIn(claim.resources, prefix), words };
}

function toLook(resources: readonly string[], prefix: string): ScriptCall {
  return { script: scripts.look, keys: keysIn(resources, prefix), words: [] };
}

function toReplace(resource: string, value: string, by: string, prefix: string): ScriptCall {
  return {
    script: scripts.replace,
    keys: keysOf(prefix, resource).slice(0, 1),
    words: [value, by],
  };
}

export const redlockCalls: Calls = { toAcquire, toExtend, toRepair, toRelease, toLook, toReplace };

/** Where a waiter is called: one name for each resource. */
export function channelNamesOf(claim: Claim, prefix: string): string[] {
  return channelsIn(claim, prefix).map((channel) => channel + (claim.waiter?.id ?? ''));
}

function scriptsFor({ sharing, yields }: Claim): Scripts {
  return sharing.kind === 'exclusive' && yields === 'never' ? plainScripts : scripts;
}

function keysIn(resources: readonly string[], prefix: string): string[] {
  return resources.flatMap((resource) => keysOf(prefix, resource));
}

/** How we stand beside others: mark and slot. */
function standOf({ sharing }: Claim): [string, number] {
  return [markOf(sharing), sharing.kind === 'slots' ? sharing.slot : 0];
}

/** What shows that we hold it: value, ttl, ms to keep the counters, fence, mark and slot. */
function proofOf(claim: Claim, fence: number | null): (string | number)[] {
  const { value, ttlMs } = claim;
  return [value, ttlMs, fence === null ? 0 : counterKeptMs + ttlMs, fence ?? 0, ...standOf(claim)];
}

function channelsIn({ resources }: Claim, prefix: string): string[] {
  return resources.map((resource) => channelsOf(prefix, resource));
}

/** Our place in the queue: id and arrival. */
function placeOf(waiter: Waiter | null): [string, string | number] {
  return waiter === null ? ['', ''] : [waiter.id, waiter.arrivalUs];
}
