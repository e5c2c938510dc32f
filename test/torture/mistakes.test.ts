// What torture is worth: a product with a mistake in it is found out, whatever the mistake is.

import { test } from 'vitest';
import { expectFinding } from './played.ts';

test.concurrent.each([
  ['no-subreaper', /^ {2}(overlap|outlived|left): /m],
  ['outer-never-acts', /^ {2}(overlap|outlived): /m],
  ['end-of-inner-awaited', /^ {2}(overlap|outlived|endless): /m],
  ['slow-start-is-ended', /^ {2}(overlap|outlived|left): /m],
  ['group-only', /^ {2}(overlap|outlived|left|endless): /m],
  ['proc-by-path', /^ {2}(overlap|outlived|endless|left): /m],
  ['slow-looks', /^ {2}(overlap|outlived|endless): /m],
  ['children-opened-anew', /^ {2}(overlap|outlived|endless|left): /m],
  ['shared-beside-exclusive', /^ {2}overlap: /m],
  ['freeze-not-seen', /^ {2}frozen: /m],
])('--break %s', { timeout: 1_500_000 }, expectFinding);
