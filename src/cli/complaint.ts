// What a program says when it cannot go on, and the code it exits with: one line for a mistake of
// the user's or for what this machine has not got; the stack only for a bug of ours, told as places
// in our sources. A stderr that takes nothing is ignored.

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { ConfigError, UsageError } from '../text/errors.ts';
import { exitCode } from '../text/exit-codes.ts';
import { oneLine, printableLines } from '../text/printable.ts';

/** An error with one line for people and the exit code that belongs to it. */
export type Expected = Error & { readonly exitCode: number };

/** Says that what was asked for cannot be written to stdout, and returns the exit code. */
export function complainOfOutput(program: string, { code }: NodeJS.ErrnoException): number {
  // The reader may have seen enough, as head(1) has: nothing to complain of, but not a success.
  if (code !== 'EPIPE') process.stderr.write(`${program}: output: cannot be written: ${code}\n`);
  return exitCode.output;
}

/** Writes `redlock-run: what: which: why` to stderr and returns the exit code. */
export function complain(
  program: string,
  error: unknown,
  isUnavailable: (error: unknown) => error is Expected,
): number {
  process.stderr.on('error', () => {});
  if (error instanceof UsageError || error instanceof ConfigError || isUnavailable(error)) {
    process.stderr.write(`${program}: ${oneLine(error.message)}\n`);
    return error.exitCode;
  }
  const stack = originalStack((error instanceof Error && error.stack) || String(error));
  process.stderr.write(
    `${program}: bug: this should not happen: please report it\n${printableLines(stack)}\n`,
  );
  return exitCode.bug;
}

/**
 * The stack with every place in a bundle replaced by the one it was made from, where there is a map.
 * Bundles do not name their maps, or Node would look for them; they lie beside the bundles.
 */
export function originalStack(stack: string): string {
  const maps = new Map<string, SourceMap | null>();
  return stack.replace(
    /([^\s(]+\.js):(\d+):(\d+)/g,
    (place, file: string, line: string, column: string) => {
      if (!maps.has(file)) maps.set(file, mapOf(file));
      const origin = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!origin || !('originalSource' in origin)) return place;
      const source = origin.originalSource.replace(/^(\.\.\/)+/, '');
      return `${source}:${origin.originalLine + 1}:${origin.originalColumn + 1}`;
    },
  );
}

function mapOf(bundle: string): SourceMap | null {
  const file = `${bundle}.map`;
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null;
}
