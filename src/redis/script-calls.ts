// Which script is called for a claim, on which keys, with which words. It sends nothing.

import type { Claim, Waiter } from '../lock/types.ts';
import { markOf } from '../lock/value.ts';
import { channelsOf, freezeKeyOf, historyKeyOf, keysOf } from './keys.ts';
import { plainScripts, type Scripts, scripts } from './scripts.ts';

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly words: readonly (string | number)[];
}

/** The script calls of a protocol. */
export interface Calls {
  toAcquire(claim: Claim, prefix: string): ScriptCall;
  toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall;
  toRepair(claim: Claim, fence: number | null, prefix: string): ScriptCall;
  toRelease(undoing: Undoing, prefix: string): ScriptCall;
  /** Reads so many locks in one step. */
  toLook(resources: readonly string[], prefix: string): ScriptCall;
  /** Replaces a value by another one, for the time that was left. */
  toReplace(resource: string, value: string, by: string, prefix: string): ScriptCall;
}

/**
 * How long counters are kept after their last use. Only memory depends on it: new ones start above.
 */
const counterKeptMs = 24 * 60 * 60 * 1000;

/** A release or a rollback. */
export interface Undoing {
  readonly claim: Claim;
  /** How long the key is left, in ms; 0: it is removed at once. */
  readonly keepMs: number;
  /** For the history; null: nothing. */
  readonly record: string | null;
  readonly keepsPosition: boolean;
}

/** The same for the key alone: the waiter may have entered the queue again since. */
export function withoutWaiter(undoing: Undoing): Undoing {
  return { ...undoing, claim: { ...undoing.claim, waiter: null }, keepsPosition: true };
}

function toAcquire(claim: Claim, prefix: string): ScriptCall {
  const { value, ttlMs, isFenced, waiter, resources } = claim;
  const counter = isFenced ? counterKeptMs + ttlMs : 0;
  const words = [
    value,
    ttlMs,
    counter,
    ...waiterWords(waiter),
    ...sharingWords(claim),
    ...channelsIn(claim, prefix),
  ];
  return { script: scriptsFor(claim).acquire, keys: keysWithFreezes(resources, prefix), words };
}

function toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  const arrival = claim.yields === 'lock' ? (claim.waiter?.arrivalUs ?? 0) : '';
  const words = [...holderWords(claim, fence), arrival];
  return { script: scriptsFor(claim).extend, keys: keysIn(claim.resources, prefix), words };
}

function toRepair(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  return {
    script: scriptsFor(claim).repair,
    keys: keysIn(claim.resources, prefix),
    words: holderWords(claim, fence),
  };
}

/** A waiter that stays in the queue names its arrival, one that leaves does not. */
function toRelease({ claim, keepMs, record, keepsPosition }: Undoing, prefix: string): ScriptCall {
  const [id, arrivalUs] = waiterWords(claim.waiter);
  const waiter = [id, keepsPosition ? arrivalUs : ''];
  const streams = claim.resources.map((resource) =>
    record === null ? '' : historyKeyOf(prefix, resource),
  );
  const told = [record ?? '', ...channelsIn(claim, prefix), ...streams];
  const words = [claim.value, keepMs, ...waiter, ...sharingWords(claim), ...told];
  return { script: scriptsFor(claim).release, keys: keysIn(claim.resources, prefix), words };
}

function toLook(resources: readonly string[], prefix: string): ScriptCall {
  return { script: scripts.look, keys: keysWithFreezes(resources, prefix), words: [] };
}

/** Bars new holders, for so many ms; 0: until it is thawed. Not in the older protocol. */
export function toFreeze(
  resource: string,
  value: string,
  forMs: number,
  prefix: string,
): ScriptCall {
  return {
    script: scripts.freeze,
    keys: [freezeKeyOf(prefix, resource)],
    words: [value, Math.ceil(forMs)],
  };
}

/** Removes exactly this freeze; `line` is for the history, '' for none. */
export function toThaw(resource: string, value: string, line: string, prefix: string): ScriptCall {
  const stream = historyKeyOf(prefix, resource);
  return {
    script: scripts.thaw,
    keys: [...keysWithFreezes([resource], prefix), stream],
    words: [value, channelsOf(prefix, resource), line],
  };
}

function toReplace(resource: string, value: string, by: string, prefix: string): ScriptCall {
  return {
    script: scripts.replace,
    keys: keysOf(prefix, resource).slice(0, 1),
    words: [value, by],
  };
}

export const redlockCalls: Calls = { toAcquire, toExtend, toRepair, toRelease, toLook, toReplace };

/** The channels of a waiter's wake-ups: one for each resource. */
export function channelNamesOf(claim: Claim, prefix: string): string[] {
  return channelsIn(claim, prefix).map((channel) => channel + (claim.waiter?.id ?? ''));
}

function scriptsFor({ sharing, yields }: Claim): Scripts {
  return sharing.kind === 'exclusive' && yields === 'never' ? plainScripts : scripts;
}

function keysIn(resources: readonly string[], prefix: string): string[] {
  return resources.flatMap((resource) => keysOf(prefix, resource));
}

/** Those of keysIn, then one freeze for each resource. */
function keysWithFreezes(resources: readonly string[], prefix: string): string[] {
  const freezes = resources.map((resource) => freezeKeyOf(prefix, resource));
  return [...keysIn(resources, prefix), ...freezes];
}

/** Mark and slot. */
function sharingWords({ sharing }: Claim): [string, number] {
  return [markOf(sharing), sharing.kind === 'slots' ? sharing.slot : 0];
}

/** Value, ttl, ms to keep the counters, fence, mark and slot. */
function holderWords(claim: Claim, fence: number | null): (string | number)[] {
  const { value, ttlMs } = claim;
  return [
    value,
    ttlMs,
    fence === null ? 0 : counterKeptMs + ttlMs,
    fence ?? 0,
    ...sharingWords(claim),
  ];
}

function channelsIn({ resources }: Claim, prefix: string): string[] {
  return resources.map((resource) => channelsOf(prefix, resource));
}

/** Id and arrival; '' for a claim that does not wait. */
function waiterWords(waiter: Waiter | null): [string, string | number] {
  return waiter === null ? ['', ''] : [waiter.id, waiter.arrivalUs];
}
