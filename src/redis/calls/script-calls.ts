// Which script is called for a claim, on which keys, with which arguments. It sends nothing.

import { isSuccess } from '../../lock/history.ts';
import type { Claim, Waiter } from '../../lock/types.ts';
import { modeOf } from '../../lock/value.ts';
import {
  channelsOf,
  freezeKeyOf,
  historyIndexOf,
  historyKeysOf,
  historyNamesOf,
  historySizeOf,
  keysOf,
} from '../keys.ts';
import { type Scripts, scripts, scriptsFor } from './scripts.ts';

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** The script calls of a protocol. */
export interface Calls {
  toAcquire(claim: Claim, prefix: string, historyBytes: number): ScriptCall;
  toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall;
  toRepair(claim: Claim, fence: number | null, prefix: string): ScriptCall;
  toRelease(removal: Removal, prefix: string, historyBytes: number): ScriptCall;
  /** Reads so many locks in one step. */
  toLook(resources: readonly string[], prefix: string): ScriptCall;
  /** Puts another value in the place of this one, for the time that was left. */
  toExchange(resource: string, value: string, by: string, prefix: string): ScriptCall;
}

/**
 * How long counters are kept after their last use. Only memory depends on it: new ones start above.
 */
const counterKeptMs = 24 * 60 * 60 * 1000;

/** What all histories of a prefix take on one master at most where nothing else is configured. */
export const usualHistoryBytes = 64 * 1024 * 1024;

/** A release or a rollback. */
export interface Removal {
  readonly claim: Claim;
  /** How long the key is left, in ms; 0: it is removed at once. */
  readonly keepMs: number;
  /** For the history; null: nothing. */
  readonly line: string | null;
  readonly keepsPosition: boolean;
}

/** The same for the key alone: the waiter may have entered the queue again since. */
export function withoutWaiter(removal: Removal): Removal {
  return { ...removal, claim: { ...removal.claim, waiter: null }, keepsPosition: true };
}

/** What a claim that does not wait says beside its arguments, in case that it is refused. */
export function skipArgs({ skip }: Claim, prefix: string, historyBytes: number) {
  if (skip === undefined) return [];
  const { line, host, run, isRepeated } = skip;
  return [historyIndexOf(prefix), historyBytes, line, host, run, isRepeated ? 1 : 0];
}

/** What a claim says beside its arguments that leaves something in the history. */
function historyArgs(claim: Claim, prefix: string, historyBytes: number) {
  const { start, skip } = claim;
  if (!start && !skip) return [];
  const ofSkip = skipArgs(claim, prefix, historyBytes).slice(2);
  return [historyIndexOf(prefix), historyBytes, start?.token ?? '', start?.line ?? '', ...ofSkip];
}

/** The line of a release; null: none. A rollback removes what the claim has left. */
function sentLine({ claim: { start }, line }: Removal): string | null {
  return line ?? (start ? `undo ${start.token}` : null);
}

/** What a release says behind its line. */
export function lineArgs(line: string | null, prefix: string, historyBytes: number) {
  if (line === null) return [];
  return [historyIndexOf(prefix), historyBytes, isSuccess(line) ? 1 : 0];
}

/**
 * The keys of the histories that a release writes to, as Dragonfly demands. *Note:* the histories
 * of other names, which it may remove to make room, cannot be named.
 */
export function lineKeys(
  line: string | null,
  { resources }: Pick<Claim, 'resources'>,
  prefix: string,
): string[] {
  if (line === null) return [];
  const own = resources.flatMap((resource) => historyKeysOf(prefix, resource));
  return [...own, historyNamesOf(prefix), historySizeOf(prefix)];
}

function toAcquire(claim: Claim, prefix: string, historyBytes: number): ScriptCall {
  const { value, ttlMs, isFenced, waiter, resources } = claim;
  const counter = isFenced ? counterKeptMs + ttlMs : 0;
  const args = [
    value,
    ttlMs,
    counter,
    ...waiterArgs(waiter),
    ...sharingArgs(claim),
    ...channelsIn(claim, prefix),
    ...historyArgs(claim, prefix, historyBytes),
  ];
  const script = textsFor(claim, (claim.skip ?? claim.start) !== undefined).acquire;
  return { script, keys: keysWithFreezes(resources, prefix), args };
}

function toExtend(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  const arrival = claim.preemptible === 'replace' ? (claim.waiter?.arrivalUs ?? 0) : '';
  const args = [...holderArgs(claim, fence), arrival];
  return { script: textsFor(claim, false).extend, keys: keysIn(claim.resources, prefix), args };
}

function toRepair(claim: Claim, fence: number | null, prefix: string): ScriptCall {
  return {
    script: textsFor(claim, false).repair,
    keys: keysIn(claim.resources, prefix),
    args: holderArgs(claim, fence),
  };
}

/** A waiter that stays in the queue names its arrival, one that leaves does not. */
function toRelease(removal: Removal, prefix: string, historyBytes: number): ScriptCall {
  const { claim, keepMs, keepsPosition } = removal;
  const line = sentLine(removal);
  const [id, arrivalUs] = waiterArgs(claim.waiter);
  const waiter = [id, keepsPosition ? arrivalUs : ''];
  const behind = lineArgs(line, prefix, historyBytes);
  const told = [line ?? '', ...channelsIn(claim, prefix), ...behind];
  const args = [claim.value, keepMs, ...waiter, ...sharingArgs(claim), ...told];
  const keys = [...keysIn(claim.resources, prefix), ...lineKeys(line, claim, prefix)];
  return { script: textsFor(claim, line !== null).release, keys, args };
}

function toLook(resources: readonly string[], prefix: string): ScriptCall {
  const keys = [...keysWithFreezes(resources, prefix), ...runsKeys(resources, prefix)];
  return { script: scripts.look, keys, args: [] };
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
    args: [value, Math.ceil(forMs)],
  };
}

/** Removes exactly this freeze; `line` is for the history, '' for none. */
export function toThaw(
  resource: string,
  value: string,
  line: string,
  prefix: string,
  historyBytes: number,
): ScriptCall {
  const resources = [resource];
  return {
    script: scripts.thaw,
    keys: [...keysWithFreezes(resources, prefix), ...lineKeys(line, { resources }, prefix)],
    args: [value, channelsOf(prefix, resource), line, historyIndexOf(prefix), historyBytes],
  };
}

/** Adds what a person has done to the history. */
export function toAddLine(
  resource: string,
  line: string,
  prefix: string,
  historyBytes: number,
): ScriptCall {
  const history = lineKeys(line, { resources: [resource] }, prefix);
  return {
    script: scripts.act,
    keys: [prefix + resource, ...history],
    args: [line, historyIndexOf(prefix), historyBytes],
  };
}

function toExchange(resource: string, value: string, by: string, prefix: string): ScriptCall {
  return {
    script: scripts.exchange,
    keys: keysOf(prefix, resource).slice(0, 1),
    args: [value, by],
  };
}

export const redlockCalls: Calls = { toAcquire, toExtend, toRepair, toRelease, toLook, toExchange };

/** The lists of the lines of these histories. */
export function runsKeys(resources: readonly string[], prefix: string): string[] {
  return resources.map((resource) => historyKeysOf(prefix, resource)[0]);
}

function textsFor({ sharing, preemptible }: Claim, hasLine: boolean): Scripts {
  return scriptsFor(sharing.kind === 'exclusive' && preemptible === 'never', hasLine);
}

function keysIn(resources: readonly string[], prefix: string): string[] {
  return resources.flatMap((resource) => keysOf(prefix, resource));
}

/** Those of keysIn, then one freeze for each resource. */
function keysWithFreezes(resources: readonly string[], prefix: string): string[] {
  const freezes = resources.map((resource) => freezeKeyOf(prefix, resource));
  return [...keysIn(resources, prefix), ...freezes];
}

/** Lock mode and slot. */
function sharingArgs({ sharing }: Claim): [string, number] {
  return [modeOf(sharing), sharing.kind === 'slots' ? sharing.slot : 0];
}

/** Value, ttl, ms to keep the counters, fence, lock mode and slot. */
function holderArgs(claim: Claim, fence: number | null): (string | number)[] {
  const { value, ttlMs } = claim;
  return [
    value,
    ttlMs,
    fence === null ? 0 : counterKeptMs + ttlMs,
    fence ?? 0,
    ...sharingArgs(claim),
  ];
}

function channelsIn({ resources }: Claim, prefix: string): string[] {
  return resources.map((resource) => channelsOf(prefix, resource));
}

/** Id and arrival; '' for a claim that does not wait. */
function waiterArgs(waiter: Waiter | null): [string, string | number] {
  return waiter === null ? ['', ''] : [waiter.id, waiter.arrivalUs];
}
