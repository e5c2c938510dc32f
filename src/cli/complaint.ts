// What a program says when it cannot go on, and the code it exits with: one line for a mistake of
// the user's or for what this machine has not got; the stack only for a bug of ours. A stderr that
// takes nothing is no trouble.

import { oneLine, printableLines } from '../text/printable.ts';
import { ConfigError, UsageError } from './trouble.ts';

const bugExitCode = 70;
const outputExitCode = 74;

/** An error with one line for people and the exit code that belongs to it. */
export type Expected = Error & { readonly exitCode: number };

/** Says that what was asked for cannot be written to stdout, and returns the exit code. */
export function complainOfOutput(program: string, { code }: NodeJS.ErrnoException): number {
  // Whoever reads us may have seen enough, as head(1) has: no reason to complain, but not a success either.
  if (code !== 'EPIPE') process.stderr.write(`${program}: output: cannot be written: ${code}\n`);
  return outputExitCode;
}

/** Writes `redlock-run: what: which: why` to stderr and returns the exit code. */
export async function complain(
  program: string,
  error: unknown,
  isUnavailable: (error: unknown) => error is Expected,
): Promise<number> {
  process.stderr.on('error', () => {});
  if (error instanceof UsageError || error instanceof ConfigError || isUnavailable(error)) {
    process.stderr.write(`${program}: ${oneLine(error.message)}\n`);
    return error.exitCode;
  }
  const { originalStack } = await import('./stack.ts');
  const stack = originalStack((error instanceof Error && error.stack) || String(error));
  process.stderr.write(`${program}: bug: this should not happen: please report it\n${printableLines(stack)}\n`);
  return bugExitCode;
}
