// What is known of a key of a lock by its name.

import { expect, test } from 'vitest';
import { beside, type Helper, typeOfKey } from '../../../src/redis/keys.ts';

const helpers: readonly [string, readonly Helper[]][] = [
  ['string', ['fence', 'owner', 'freeze', 'promotion', 'size:history']],
  ['zset', ['queue', 'waiters', 'holders', 'names:history']],
  ['hash', ['mark', 'facts:history']],
  ['list', ['runs:history']],
];

test.each(helpers)('the type that the scripts give it: %s', (type, ofType) => {
  for (const helper of ofType) expect(typeOfKey(beside('p:a', helper))).toBe(type);
  expect(typeOfKey('p:a')).toBe('string');
});
