// Before the suite of mutants: builds them once, and not in each of its files at the same time.

import { buildMutants } from './mutant-build.ts';

export function setup(): void {
  buildMutants();
}
