// The mutants that show only in some of many worlds: as mutants.test.ts, but too slow for `npm
// test`. Run them with `npm test -- --project mutants`.

import { huntEach } from './mutant-suite.ts';
import { mutants } from './mutants.ts';

huntEach(mutants.filter(({ isRare }) => isRare));
