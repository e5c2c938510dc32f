// Which script is called for a claim, on which keys, with which words. It knows no connection and
// sends nothing. There are two sets of scripts, and the claim decides: one resource that is held
// alone goes the short way.

import type { Claim, Waiter } from '../lock/ports.ts';
import { markOf } from '../lock/sharing.ts';
import { lookScript, replaceScript } from './inspection-scripts.ts';
import { jointAcquireScript, jointExtendScript, jointHealScript, jointReleaseScript } from './joint-scripts.ts';
import { channelsOf, historyKeyOf, jointKeysOf, keysOf } from './keys.ts';
import { acquireScript, extendScript, healScript, releaseScript } from './scripts.ts';

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly words: readonly (string | number)[];
}

/** What is sent for what is wanted. */
export interface Calls {
  toAcquire(claim: Claim, prefix: string): ScriptCall;
  toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall;
  toHeal(claim: Claim, fence: number | null, prefix: string): ScriptCall;
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
  readonly staysInLine: boolean;
}

/** Of the key alone: a place may have been taken anew since. */
export function withoutPlace(undoing: Undoing): Undoing {
  return { ...undoing, claim: { ...undoing.claim, waiter: null }, staysInLine: true };
}

function toAcquire(claim: Claim, prefix: string): ScriptCall {
  const { value, ttlMs, isFenced, waiter } = claim;
  const words = [value, ttlMs, isFenced ? counterKeptMs + ttlMs : 0, ...placeOf(waiter)];
  const channels = channelsIn(claim, prefix);
  if (isPlain(claim)) return plain(acquireScript, claim, prefix, [...words, ...channels]);
  return joint(jointAcquireScript, claim, prefix, [...words, ...standOf(claim), ...channels]);
}

function toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  const words = proofOf(claim, fence);
  if (isPlain(claim)) return plain(extendScript, claim, prefix, words);
  const arrival = claim.yields === 'lock' ? (claim.waiter?.arrivalUs ?? 0) : '';
  return joint(jointExtendScript, claim, prefix, [...words, ...standOf(claim), arrival]);
}

function toHeal(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  const words = proofOf(claim, fence);
  if (isPlain(claim)) return plain(healScript, claim, prefix, words);
  return joint(jointHealScript, claim, prefix, [...words, ...standOf(claim)]);
}

/** A waiter that stays in the queue names its arrival, one that leaves does not. */
function toRelease({ claim, keepMs, record, staysInLine }: Undoing, prefix: string): ScriptCall {
  const [id, arrivalUs] = placeOf(claim.waiter);
  const words = [claim.value, keepMs, id, staysInLine ? arrivalUs : ''];
  const channels = channelsIn(claim, prefix);
  const streams = claim.resources.map((resource) => (record === null ? '' : historyKeyOf(prefix, resource)));
  if (isPlain(claim)) return plain(releaseScript, claim, prefix, [...words, ...channels, record ?? '', ...streams]);
  return joint(jointReleaseScript, claim, prefix, [...words, ...standOf(claim), record ?? '', ...channels, ...streams]);
}

function toLook(resources: readonly string[], prefix: string): ScriptCall {
  return { script: lookScript, keys: resources.flatMap((resource) => jointKeysOf(prefix, resource)), words: [] };
}

function toReplace(resource: string, value: string, by: string, prefix: string): ScriptCall {
  return { script: replaceScript, keys: keysOf(prefix, resource).slice(0, 1), words: [value, by] };
}

export const redlockCalls: Calls = { toAcquire, toExtend, toHeal, toRelease, toLook, toReplace };

/** Where a waiter is called: one name for each resource. */
export function channelNamesOf(claim: Claim, prefix: string): string[] {
  return channelsIn(claim, prefix).map((channel) => channel + (claim.waiter?.id ?? ''));
}

function isPlain({ resources, sharing, yields }: Claim): boolean {
  return resources.length === 1 && sharing.kind === 'exclusive' && yields === 'never';
}

function plain(script: string, { resources }: Claim, prefix: string, words: ScriptCall['words']): ScriptCall {
  return { script, keys: keysOf(prefix, resources[0] as string), words };
}

function joint(script: string, { resources }: Claim, prefix: string, words: ScriptCall['words']): ScriptCall {
  return { script, keys: resources.flatMap((resource) => jointKeysOf(prefix, resource)), words };
}

/** How we stand beside others: mark and slot. */
function standOf({ sharing }: Claim): [string, number] {
  return [markOf(sharing), sharing.kind === 'slots' ? sharing.slot : 0];
}

function proofOf({ value, ttlMs }: Claim, fence: number | null): (string | number)[] {
  return [value, ttlMs, fence === null ? 0 : counterKeptMs + ttlMs, fence ?? 0];
}

function channelsIn({ resources }: Claim, prefix: string): string[] {
  return resources.map((resource) => channelsOf(prefix, resource));
}

/** Our place in the queue: id and arrival. */
function placeOf(waiter: Waiter | null): [string, string | number] {
  return waiter === null ? ['', ''] : [waiter.id, waiter.arrivalUs];
}
