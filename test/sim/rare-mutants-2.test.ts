// The other half of the rare mutants: see rare-mutants.test.ts.

import { huntEach } from './mutant-suite.ts';
import { mutants } from './mutants.ts';

huntEach(mutants.filter(({ isRare }) => isRare).filter((_, index) => index % 2 === 1));
