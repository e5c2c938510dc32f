// What is known of a key of a lock by its name.

import { expect, it } from 'vitest';
import {
  freezeKeyOf,
  historyKeysOf,
  historyNamesOf,
  historySizeOf,
  keysOf,
  markKeyOf,
  ownerKeyOf,
  promotionKeyOf,
  typeOfKey,
} from '../../../src/redis/keys.ts';

it('the type that the scripts give it', () => {
  const [key, counter, queue, waiters, holders] = keysOf('p:', 'a') as [string, ...string[]];
  const [runs, facts] = historyKeysOf('p:', 'a');
  const strings = [key, counter, freezeKeyOf('p:', 'a'), ownerKeyOf('p:', 'a')];
  const ofPrefix = [promotionKeyOf('p:'), historySizeOf('p:')];
  const typesOf = (keys: readonly (string | undefined)[]) =>
    keys.map((one) => typeOfKey(one ?? ''));
  expect(new Set(typesOf([...strings, ...ofPrefix]))).toEqual(new Set(['string']));
  expect(typesOf([queue, waiters, holders, historyNamesOf('p:')])).toEqual(Array(4).fill('zset'));
  expect(typesOf([runs, facts, markKeyOf('p:')])).toEqual(['list', 'hash', 'hash']);
});
