// Random bytes: so many as asked for, and never the same.

import { expect, it } from 'vitest';
import { randomBytes } from '../../src/random.ts';

it('gives other bytes each time', () => {
  const all = Array.from({ length: 1_000 }, () => randomBytes(20));
  expect(all.every((bytes) => bytes.length === 20)).toBe(true);
  expect(new Set(all.map((bytes) => bytes.toString('hex'))).size).toBe(1_000);
});

it('uses every value of a byte', () => {
  expect(new Set(randomBytes(20_000)).size).toBe(256);
});
