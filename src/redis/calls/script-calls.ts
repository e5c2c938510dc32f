// Which script is called for what, on which keys, with which arguments. It sends nothing.

import assert from 'node:assert/strict';
import { isSuccess } from '../../lock/history.ts';
import type { Claim } from '../../lock/types.ts';
import { modeOf } from '../../lock/value.ts';
import { beside, type Helper, type Protocol } from '../keys.ts';
import { type LockVerb, type ScriptName, scriptOf } from './scripts.ts';

export interface ScriptCall {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

type Args = Readonly<Record<string, string | number>>;

/** Arguments go by name: a script is sent those that it reads. */
export function callOf(
  name: ScriptName,
  keys: readonly string[],
  given: Args,
  hasForms = true,
  hasHistory = true,
): ScriptCall {
  const { text, params } = scriptOf(name, hasForms, hasHistory);
  const args = params.map((param) => {
    assert(given[param] !== undefined, `a script reads ${param}, which is not given`);
    return given[param];
  });
  return { script: text, keys, args };
}

/**
 * How long counters are kept after their last use. Only memory depends on it: new ones start above.
 */
const counterKeptMs = 24 * 60 * 60 * 1000;

/** What all histories of a prefix take on one master at most where nothing else is configured. */
export const defaultHistoryBytes = 64 * 1024 * 1024;

/** The unit of the time in a key, in ms; null: a key holds no time. */
const unitMsOf: Readonly<Record<Protocol, number | null>> = {
  redlock: null,
  setnx: 1_000,
  'setnx-ms': 1,
};

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
    this.#historyArgs = { index: `{${this.#prefix}}`, maxBytes: settings.historyBytes };
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
  toRelease({ claim, keepMs, keepsPosition, line }: Removal): ScriptCall {
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
    const keys = [...this.#keys(resources), ...this.#beside(resources, 'runs:history')];
    return callOf(this.#name('look'), keys, { count: resources.length });
  }

  toExchange(resource: string, value: string, by: string): ScriptCall {
    return callOf(this.#name('exchange'), this.#keys([resource]), { value, by });
  }

  /** Not in the older protocol. */
  toFreeze(resource: string, value: string, forMs: number): ScriptCall {
    const keys = this.#beside([resource], 'freeze');
    return callOf('freeze', keys, { value, ms: Math.ceil(forMs) });
  }

  toThaw(resource: string, value: string, line: string): ScriptCall {
    const keys = [...this.#keys([resource]), ...this.#historyKeys([resource])];
    return callOf('thaw', keys, { ...this.#historyArgs, value, line, count: 1 });
  }

  toAddLine(resource: string, line: string): ScriptCall {
    const keys = [this.#prefix + resource, ...this.#historyKeys([resource])];
    return callOf('act', keys, { ...this.#historyArgs, line });
  }

  toReadHistories(resources: readonly string[], maxCount: number): ScriptCall {
    const keys = this.#beside(resources, 'runs:history', 'facts:history');
    return callOf('history', keys, { count: resources.length, maxCount });
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
    return callOf(this.#name(verb), this.#keys(resources), args, hasForms, hasHistory);
  }

  #name(verb: LockVerb): ScriptName {
    return this.#unitMs === null || verb === 'repair' ? verb : `setnx_${verb}`;
  }

  /** KEYS of all verbs of a lock. */
  #keys(resources: readonly string[]): string[] {
    const keys = resources.map((resource) => this.#prefix + resource);
    return this.#unitMs === null
      ? [...keys, ...this.#beside(resources, 'fence', 'queue', 'waiters', 'holders', 'freeze')]
      : [...keys, ...this.#beside(resources, 'owner')];
  }

  /** The first of each resource, then the second of each, and so on. */
  #beside(resources: readonly string[], ...helpers: readonly Helper[]): string[] {
    return helpers.flatMap((helper) =>
      resources.map((resource) => beside(this.#prefix + resource, helper)),
    );
  }

  /**
   * The keys of the histories that a script writes to, as Dragonfly demands. *Note:* the histories
   * of other names, which it may remove to make room, cannot be named.
   */
  #historyKeys(resources: readonly string[]): string[] {
    const own = this.#beside(resources, 'runs:history', 'facts:history');
    return [...own, beside(this.#prefix, 'names:history'), beside(this.#prefix, 'size:history')];
  }
}

function fenceArgs({ ttlMs }: Claim, fence: number | null) {
  return { keep: fence === null ? 0 : counterKeptMs + ttlMs, fence: fence ?? 0 };
}
