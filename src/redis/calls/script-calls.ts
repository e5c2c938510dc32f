// Which script is called for a claim, on which keys, with which arguments. It sends nothing.

import assert from 'node:assert/strict';
import { isSuccess } from '../../lock/history.ts';
import type { Claim } from '../../lock/types.ts';
import { modeOf } from '../../lock/value.ts';
import {
  freezeKeyOf,
  historyIndexOf,
  historyKeysOf,
  historyNamesOf,
  historySizeOf,
  keysOf,
  ownerKeyOf,
} from '../keys.ts';
import { type Protocol, unitMsOf } from './protocol.ts';
import { type LockVerb, type Script, type ScriptName, scriptOf } from './scripts.ts';

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

type Args = Readonly<Record<string, string | number>>;

/** Arguments go by name: a script is sent those that it reads. */
function callOf(script: Script, keys: readonly string[], given: Args): ScriptCall {
  const args = script.params.map((name) => {
    assert(given[name] !== undefined, `a script reads ${name}, which is not given`);
    return given[name];
  });
  return { script: script.text, keys, args };
}

/**
 * How long counters are kept after their last use. Only memory depends on it: new ones start above.
 */
const counterKeptMs = 24 * 60 * 60 * 1000;

/** What all histories of a prefix take on one master at most where nothing else is configured. */
export const defaultHistoryBytes = 64 * 1024 * 1024;

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

/**
 * The calls of the scripts under one prefix. The older protocol is an exclusive lock of one name on
 * one master. It has nothing to repair: the one master is the quorum, and a lock that it has lost
 * is lost.
 */
export class Calls {
  readonly #prefix: string;
  readonly #unitMs: number | null;
  readonly #historyArgs: Args;

  /** `historyBytes`: what the histories of all locks take on each master at most. */
  constructor(settings: { prefix: string; historyBytes: number; protocol: Protocol }) {
    this.#prefix = settings.prefix;
    this.#unitMs = unitMsOf[settings.protocol];
    this.#historyArgs = { index: historyIndexOf(this.#prefix), maxBytes: settings.historyBytes };
  }

  toAcquire(claim: Claim): ScriptCall {
    const { skip, start, isFenced, ttlMs } = claim;
    const args = {
      keep: isFenced ? counterKeptMs + ttlMs : 0,
      token: start?.token ?? '',
      start: start?.line ?? '',
      line: skip?.line ?? '',
      host: skip?.host ?? '',
      run: skip?.run ?? '',
      repeated: skip?.isRepeated ? 1 : 0,
    };
    return this.#call('acquire', claim, args, (skip ?? start) !== undefined);
  }

  toExtend(claim: Claim, fence: number | null): ScriptCall {
    const arrival = claim.preemptible === 'replace' ? (claim.waiter?.arrivalUs ?? 0) : '';
    return this.#call('extend', claim, { ...fenceArgs(claim, fence), arrival });
  }

  toRepair(claim: Claim, fence: number | null): ScriptCall {
    const verb = this.#unitMs === null ? 'repair' : 'extend';
    return this.#call(verb, claim, fenceArgs(claim, fence));
  }

  /** A waiter that stays in the queue names its arrival, one that leaves does not. */
  toRelease(removal: Removal): ScriptCall {
    const { claim, keepMs, keepsPosition, line } = removal;
    const args = {
      keepMs,
      ...(keepsPosition ? {} : { arrival: '' }),
      line: line ?? '',
      isSuccess: line !== null && isSuccess(line) ? 1 : 0,
      // A rollback removes what the claim has left.
      undone: line === null ? (claim.start?.token ?? '') : '',
    };
    const hasHistory = line !== null || claim.start !== undefined;
    const call = this.#call('release', claim, args, hasHistory);
    return hasHistory
      ? { ...call, keys: [...call.keys, ...this.#historyKeys(claim.resources)] }
      : call;
  }

  /** Reads this many locks in one step. */
  toLook(resources: readonly string[]): ScriptCall {
    const runs = resources.map((resource) => historyKeysOf(this.#prefix, resource)[0]);
    const keys = [...this.#keys(resources), ...runs];
    return callOf(scriptOf(this.#name('look')), keys, { count: resources.length });
  }

  /** Puts another value in the place of this one, for the time that was left. */
  toExchange(resource: string, value: string, by: string): ScriptCall {
    const keys = this.#keys([resource]).slice(0, this.#unitMs === null ? 1 : 2);
    return callOf(scriptOf(this.#name('exchange')), keys, { value, by });
  }

  /** Bars new holders for this many ms; 0: until it is thawed. Not in the older protocol. */
  toFreeze(resource: string, value: string, forMs: number): ScriptCall {
    const keys = [freezeKeyOf(this.#prefix, resource)];
    return callOf(scriptOf('freeze'), keys, { value, ms: Math.ceil(forMs) });
  }

  /** Removes exactly this freeze; `line` is for the history, '' for none. */
  toThaw(resource: string, value: string, line: string): ScriptCall {
    const keys = [...this.#keys([resource]), ...this.#historyKeys([resource])];
    return callOf(scriptOf('thaw'), keys, { ...this.#historyArgs, value, line, count: 1 });
  }

  /** Adds what an operator has done to the history. */
  toAddLine(resource: string, line: string): ScriptCall {
    const keys = [this.#prefix + resource, ...this.#historyKeys([resource])];
    return callOf(scriptOf('act'), keys, { ...this.#historyArgs, line });
  }

  /** Reads the newest lines and all facts of these histories. */
  toReadHistories(resources: readonly string[], maxCount: number): ScriptCall {
    const keys = inColumns(resources.map((resource) => historyKeysOf(this.#prefix, resource)));
    return callOf(scriptOf('history'), keys, { count: resources.length, maxCount });
  }

  #call(
    verb: LockVerb,
    { value, ttlMs, sharing, preemptible, waiter, resources }: Claim,
    more: Args,
    hasHistory = false,
  ): ScriptCall {
    const hasForms = sharing.kind !== 'exclusive' || preemptible !== 'never';
    const args = {
      value,
      ttl: ttlMs,
      count: resources.length,
      mode: modeOf(sharing),
      slot: sharing.kind === 'slots' ? sharing.slot : 0,
      id: waiter?.id ?? '',
      arrival: waiter?.arrivalUs ?? '',
      unitMs: this.#unitMs ?? '',
      ...this.#historyArgs,
      ...more,
    };
    const script = scriptOf(this.#name(verb), hasForms, hasHistory);
    return callOf(script, this.#keys(resources), args);
  }

  #name(verb: LockVerb): ScriptName {
    return this.#unitMs === null || verb === 'repair' ? verb : `setnx_${verb}`;
  }

  /** KEYS of all verbs of a lock. */
  #keys(resources: readonly string[]): string[] {
    const [prefix, isOlder] = [this.#prefix, this.#unitMs !== null];
    const keysOfOne = (name: string) =>
      isOlder
        ? [prefix + name, ownerKeyOf(prefix, name)]
        : [...keysOf(prefix, name), freezeKeyOf(prefix, name)];
    return inColumns(resources.map(keysOfOne));
  }

  /**
   * The keys of the histories that a script writes to, as Dragonfly demands. *Note:* the histories
   * of other names, which it may remove to make room, cannot be named.
   */
  #historyKeys(resources: readonly string[]): string[] {
    const own = resources.flatMap((resource) => historyKeysOf(this.#prefix, resource));
    return [...own, historyNamesOf(this.#prefix), historySizeOf(this.#prefix)];
  }
}

/** A call of a script on one key of all locks under a prefix. */
export function toServer(
  name: 'promoted' | 'mark' | 'record_set',
  key: string,
  args: Args,
): ScriptCall {
  return callOf(scriptOf(name), [key], args);
}

/** The first of each row, then the second of each, and so on. */
function inColumns(rows: readonly (readonly string[])[]): string[] {
  return (rows[0] ?? []).flatMap((_, at) => rows.map((row) => row[at] as string));
}

function fenceArgs({ ttlMs }: Claim, fence: number | null) {
  return { keep: fence === null ? 0 : counterKeptMs + ttlMs, fence: fence ?? 0 };
}
