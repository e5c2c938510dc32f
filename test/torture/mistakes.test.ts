// What torture is worth: a product with a mistake in it is found out, whatever the mistake is.

import { test } from 'vitest';
import { expectFinding } from './played.ts';

test.concurrent.each([
  ['start-twice', /^ {2}twice: /m],
  ['deadlines-from-the-reading', /^ {2}(overlap|outlived): /m],
  ['no-signals-of-our-own', /^ {2}(overlap|outlived|endless): /m],
  ['slow-start-is-dead', /^ {2}guard: /m],
  ['one-look', /^ {2}(overlap|outlived|left): /m],
  ['shared-beside-exclusive', /^ {2}overlap: /m],
  ['freeze-not-seen', /^ {2}frozen: /m],
])('--break %s', { timeout: 1_500_000 }, expectFinding);
