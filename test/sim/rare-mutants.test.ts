// The deliberate mistakes that only show in some of many worlds: as mutants.test.ts, for longer than `npm test` should take. By name,
// `npm test -- --project mutants`.

import { huntEach } from './mutant-suite.ts';
import { mutants } from './mutants.ts';

huntEach(mutants.filter(({ isRare }) => isRare));
