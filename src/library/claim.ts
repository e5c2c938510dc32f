// The options of a call are checked and make a form of lock: resources, mode, whether it is
// preemptible. An unknown option is an error: if it were ignored, a misspelt `waitMs` would be
// found only when it is needed. The rules of the form are those of the command line; one slot is an
// exclusive lock, as `--slots 1` is.

import os from 'node:os';
import { basename } from 'node:path';
import type { Claim } from '../lock/types.ts';
import { sharingOf } from '../lock/value.ts';
import { mistakeInNames } from '../redis/keys.ts';
import { reactions } from '../redis/masters-watch.ts';
import { userName } from '../system/caller.ts';
import { quoted } from '../text/foreign-text.ts';
import { contradictionIn, maxSlotCount, maxTtlMs } from '../text/option-rules.ts';
import { nearest } from '../text/suggestion.ts';
import { usageError } from './error.ts';
import type {
  AcquireOptions,
  LockOptions,
  RedlockOptions,
  Resources,
  RetryOptions,
} from './options.ts';

/** A check of a value, and the advice for a bad one. */
type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string];

const isDuration = (value: unknown) => typeof value === 'number' && value >= 0 && value <= maxTtlMs;
const isFunction = (value: unknown) => typeof value === 'function';

const duration: Rule = [isDuration, 'write milliseconds, at most a day'];
const callback: Rule = [isFunction, 'write a function'];
const text: Rule = [(value) => typeof value === 'string', 'write a string'];
const flag: Rule = [(value) => typeof value === 'boolean', 'write true or false'];

const retryRules: Record<keyof RetryOptions, Rule> = {
  count: [
    (count) => count === Infinity || (Number.isSafeInteger(count) && Number(count) >= 0),
    'write 0 or more',
  ],
  delayMs: [(delay) => isDuration(delay) || isFunction(delay), 'write milliseconds, or a function'],
  jitterMs: duration,
};

const lockRules: Record<keyof LockOptions, Rule> = {
  waitMs: [(wait) => wait === null || isDuration(wait), 'write milliseconds, or null for ever'],
  giveUpAfterMs: duration,
  retries: [(retries) => typeof retries === 'object', 'write { count, delayMs, jitterMs } or null'],
  masterTimeoutMs: [
    (timeout) => isDuration(timeout) && timeout !== 0,
    'write milliseconds, more than 0',
  ],
  reserveMs: duration,
  driftFactor: [
    (factor) => typeof factor === 'number' && factor >= 0 && factor < 1,
    'write a number from 0 to below 1',
  ],
  fence: flag,
  label: text,
};

export const acquireRules: Record<keyof AcquireOptions, Rule> = {
  ...lockRules,
  signal: [(signal) => signal instanceof AbortSignal, 'write an AbortSignal'],
  keepAlive: flag,
  shared: flag,
  slots: [
    (count) => Number.isInteger(count) && Number(count) >= 1 && Number(count) <= maxSlotCount,
    'write 1 to 1000',
  ],
  supersede: flag,
};

export const redlockRules: Record<keyof RedlockOptions, Rule> = {
  ...lockRules,
  prefix: text,
  restartGraceMs: duration,
  differingMasters: [
    (word) => reactions.some((one) => one === word),
    `write ${reactions.join(', ')}`,
  ],
  newToken: callback,
  onEvent: callback,
};

/** @throws RedlockError `usage` */
export function checkOptions(
  options: object,
  rules: Readonly<Record<string, Rule>>,
  within = '',
): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = rules[name];
    if (!rule) {
      if (within === '' && name in acquireRules)
        throw usageError(`option: ${quoted(name)}: is for one call (give it there)`);
      const known = Object.keys(rules);
      const near = nearest(name, known);
      const advice = near === null ? `there are ${known.join(', ')}` : `did you mean ${near}?`;
      throw usageError(`option: ${quoted(within + name)}: unknown (${advice})`);
    }
    const [isRight, wanted] = rule;
    if (value !== undefined && !isRight(value)) {
      throw usageError(
        `option: ${quoted(within + name)}: ${quoted(String(value))} will not do (${wanted})`,
      );
    }
  }
  const { retries } = options as LockOptions;
  if (retries && within === '') {
    checkOptions(retries, retryRules, 'retries.');
    if (retries.count === undefined)
      throw usageError('option: "retries.count": missing (write 0 or more)');
  }
}

export type Form = Pick<Claim, 'resources' | 'sharing' | 'preemptible'>;

/** @throws RedlockError `usage` */
export function formOf(given: Resources, options: AcquireOptions): Form {
  const resources = namesIn(given);
  const { shared = false, slots = 1, supersede = false } = options;
  const preemptible = supersede ? 'supersede' : 'never';
  const sharing = sharingOf(shared, slots, Math.random);
  const found = contradictionIn({ slots: slots > 1, shared, names: resources.length > 1 });
  if (found === null) return { resources, sharing, preemptible };
  const [one, other, why] = found;
  throw usageError(`${one}: with ${other === 'names' ? 'several names' : other}: ${why}`);
}

/** A copy, because the caller may change the array afterwards. */
function namesIn(given: unknown): readonly string[] {
  const names: unknown[] = Array.isArray(given) ? [...given] : [given];
  if (names.length === 0) throw usageError('resource: no names in the array (give at least one)');
  if (!areTexts(names))
    throw usageError('resource: no name (give a string, or an array of strings)');
  const mistake = mistakeInNames(names);
  if (mistake !== null) throw usageError(`resource: ${mistake}`);
  return Object.freeze(names);
}

function areTexts(names: unknown[]): names is string[] {
  return names.every((name) => typeof name === 'string');
}

/**
 * Checks the tokens of a program, and that none comes twice in a row: the rollback of an earlier
 * attempt that is still under way would release the later one.
 * @throws RedlockError `usage`, at the call that returns a bad token
 */
export function tokensFrom(newToken: () => unknown): () => string {
  let last = '';
  return () => {
    const token = newToken();
    if (typeof token !== 'string' || !/^\S{8,200}$/.test(token)) {
      throw usageError(
        'newToken: not a valid token (return 8 to 200 characters without white space)',
      );
    }
    if (token === last) {
      throw usageError('newToken: the same token twice in a row (return a new one at every call)');
    }
    last = token;
    return token;
  };
}

/** This process, as other clients see it. `label` null: the base name of the program. */
export function ourselves(label: string | null) {
  return {
    host: os.hostname(),
    pid: process.pid,
    user: userName(),
    label: label ?? basename(process.argv[1] ?? process.execPath),
  };
}
