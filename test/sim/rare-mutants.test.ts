// The mutants that show only in some of many worlds. One core plays the worlds of one file, so
// every other mutant is in rare-mutants-2.test.ts.

import { huntEach } from './mutant-suite.ts';
import { mutants } from './mutants.ts';

huntEach(mutants.filter(({ isRare }) => isRare).filter((_, index) => index % 2 === 0));
