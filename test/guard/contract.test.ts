// The real guard keeps its contract: see cases.ts.

import { afterAll, describe, expect, it } from 'vitest';
import { cases } from './cases.ts';
import { play } from './guard-under-test.ts';
import { closeAll, openReal } from './real-guard.ts';

afterAll(closeAll);

describe('the contract of a guard', () => {
  for (const one of cases) {
    it.concurrent(one.title, async () => {
      expect(await play(one, openReal)).toEqual(one.reports);
    });
  }
});
