// The form of a check of one master: facts in, a verdict out. A verdict other than ok has a reason
// (why) and a remedy (fix).

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
