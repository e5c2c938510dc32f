// The form of a mutant, and short ways to write one. The mutants are in the files *-mutants.ts and
// mutants.ts.

import type { Property } from './checkers.ts';
import type { FairProfile } from './profiles.ts';

export interface Edit {
  /** In src/. */
  readonly file: string;
  /** Occurs exactly once. */
  readonly from: string;
  readonly to: string;
}

export interface Mutant {
  readonly name: string;
  readonly breaks: string;
  readonly edits: readonly Edit[];
  readonly profile: FairProfile;
  readonly caughtBy: readonly Property[];
  readonly withinSeeds: number;
  /** Shows only in some of many worlds: see rare-mutants.test.ts. */
  readonly isRare?: true;
}

type Rest = Pick<Mutant, 'profile' | 'caughtBy' | 'withinSeeds' | 'isRare'>;

export const inSource = (
  name: string,
  breaks: string,
  rest: Rest,
  file: string,
  from: string,
  to: string,
): Mutant => ({
  name,
  breaks,
  edits: [{ file, from, to }],
  ...rest,
});

/** The same mutant, which changes another place as well. */
export const also = (mutant: Mutant, file: string, from: string, to: string): Mutant => ({
  ...mutant,
  edits: [...mutant.edits, { file, from, to }],
});

/** The same mutant, without an assertion of the core that would stop the program first. */
export const unasserted = also;

/** A mistake in a Lua script; `file` in src/redis/scripts/. */
export const inScript = (
  name: string,
  breaks: string,
  rest: Rest,
  file: string,
  from: string,
  to: string,
): Mutant => inSource(name, breaks, rest, scriptFile(file), from, to);

/** The same mutant, which changes another script, or another place, as well. */
export const alsoInScript = (mutant: Mutant, file: string, from: string, to: string): Mutant =>
  also(mutant, scriptFile(file), from, to);

function scriptFile(file: string): string {
  return `redis/scripts/${file}`;
}

export const within = (
  withinSeeds: number,
  profile: FairProfile,
  ...caughtBy: Property[]
): Rest => ({
  profile,
  caughtBy,
  withinSeeds,
});

export const rarely = (...rest: Parameters<typeof within>): Rest => ({
  ...within(...rest),
  isRare: true,
});
