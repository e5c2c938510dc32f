// Checks the options of a call. An unknown option is an error: if it were ignored, a misspelt
// `waitMs` would be found only when it is needed.

import { nearest } from '../text/nearest.ts';
import { quoted } from '../text/quote.ts';
import { usageError } from './messages.ts';
import type { AcquireOptions, LockOptions, RedlockOptions, RetryOptions } from './options.ts';

/** A check of a value, and the advice for a bad one. */
type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string];

const isDuration = (value: unknown) =>
  typeof value === 'number' && value >= 0 && value <= longestMs;
const isFunction = (value: unknown) => typeof value === 'function';
const isText = (value: unknown) => typeof value === 'string';
const isFlag = (value: unknown) => typeof value === 'boolean';

/** The longest duration that is accepted, in ms: a day. */
export const longestMs = 86_400_000;
const duration: Rule = [isDuration, 'write milliseconds, at most a day'];

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
  retries: [
    (retries) => retries === null || typeof retries === 'object',
    'write { count, delayMs, jitterMs } or null',
  ],
  masterTimeoutMs: [
    (timeout) => isDuration(timeout) && timeout !== 0,
    'write milliseconds, more than 0',
  ],
  reserveMs: duration,
  driftFactor: [
    (factor) => typeof factor === 'number' && factor >= 0 && factor < 1,
    'write a number from 0 to below 1',
  ],
  fence: [isFlag, 'write true or false'],
  label: [isText, 'write a string'],
};

export const acquireRules: Record<keyof AcquireOptions, Rule> = {
  ...lockRules,
  signal: [(signal) => signal instanceof AbortSignal, 'write an AbortSignal'],
  keepAlive: [isFlag, 'write true or false'],
  shared: [isFlag, 'write true or false'],
  slots: [
    (count) => Number.isInteger(count) && Number(count) >= 1 && Number(count) <= 1000,
    'write 1 to 1000',
  ],
  supersede: [isFlag, 'write true or false'],
};

export const redlockRules: Record<keyof RedlockOptions, Rule> = {
  ...lockRules,
  prefix: [isText, 'write a string'],
  restartGraceMs: duration,
  newToken: [isFunction, 'write a function'],
  onEvent: [isFunction, 'write a function'],
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
