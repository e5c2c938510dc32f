// Starts the guard before the command line has been parsed, because its start takes longest.
// Whether a command is going to run is a guess here; where it is wrong, the guard is ended unused.

import { GuardProcess, type GuardProgram, type GuardSupply } from '../run/guard/guard-process.ts';

/** `argv`: the words after the program's name. */
export function startEarly(program: GuardProgram, argv: readonly string[]): GuardSupply {
  return { program, spare: isLikelyToRun(argv) ? new GuardProcess(program) : null };
}

function isLikelyToRun(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  const ours = end === -1 ? words : words.slice(0, end);
  return words.length > 1 && !ours.some((word) => /^(-[hV]|--(help|version|dry-run))$/.test(word));
}
