// What is known of a key of a lock by its name.

import { expect, test } from 'vitest';
import { beside, type Helper, mistakeInNames, typeOfKey } from '../../../src/redis/keys.ts';

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

test('no lock has the name of a helper: with an empty prefix it would be its key', () => {
  for (const helper of helpers.flatMap(([, ofType]) => ofType))
    expect(mistakeInNames([beside('a', helper)])).not.toBeNull();
});
