// The guard, started before a word has been read that matters, because nothing else takes so long. The surprise: whether
// anything is going to run is a guess here. Where it is wrong, the guard is ended before it has been told anything.

import { GuardProcess, type GuardProgram, type GuardSupply } from './run/guard/guard-process.ts';

/** `argv` is what stands behind the program's name. */
export function startEarly(program: GuardProgram, argv: readonly string[]): GuardSupply {
  return { program, spare: isLikelyToRun(argv) ? new GuardProcess(program) : null };
}

function isLikelyToRun(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  const ours = end === -1 ? words : words.slice(0, end);
  return words.length > 1 && !ours.some((word) => /^(-[hV]|--(help|version|dry-run))$/.test(word));
}
