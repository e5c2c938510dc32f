// What a check of one master is: facts in, a verdict out. The surprise: a verdict without a reason is only for what is well; everything else
// says why it matters and what mends it.

import type { MasterFacts } from './facts.ts';
import type { Grade } from './finding.ts';

export interface Circumstances {
  readonly restartGraceMs: number;
  readonly masterTimeoutMs: number;
  readonly isLocal: boolean;
}

export type Verdict = readonly [grade: Grade, message: string, why?: string, fix?: string];
export type Check = (facts: MasterFacts, circumstances: Circumstances) => Verdict;

export const grantInfo = 'grant INFO (redlockctl acl prints the rules), or ask the provider';
export const grantConfig =
  'grant CONFIG GET (redlockctl acl --config-get; it also shows passwords), or ask the provider';
