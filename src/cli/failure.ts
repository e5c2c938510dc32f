// The last message of a program that cannot go on: one line for a mistake of the user or for
// something that this machine lacks; for a bug in the program a stack as well, with the places in
// its sources. A stderr that cannot be written is ignored.

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { ConfigError, exitCode, fileError, UsageError } from '../text/errors.ts';
import { oneLine, printableLines } from '../text/foreign-text.ts';
import { prefixOf } from './stderr.ts';

/** An error with one line for people and the exit code that belongs to it. */
export type Expected = Error & { readonly exitCode: number };

/** Where a failure is reported. */
export interface ErrorOutput {
  readonly stderr: Pick<NodeJS.WritableStream, 'on' | 'write'>;
  readonly environment: NodeJS.ProcessEnv;
}

/** Reports that the requested output cannot be written to stdout, and returns the exit code. */
export function reportOutputFailure(program: string, error: NodeJS.ErrnoException): number {
  // The reader may have read enough, as head(1) does: no message, but not a success either.
  if (error.code !== 'EPIPE')
    process.stderr.write(`${program}: output: ${fileError(error, 'written')}\n`);
  return exitCode.output;
}

/** Writes `redlock-run: what: which: why` to stderr and returns the exit code. */
export function reportFailure(
  program: string,
  error: unknown,
  isUnavailable: (error: unknown) => error is Expected,
  { stderr, environment }: ErrorOutput,
): number {
  const prefix = prefixOf('error', environment);
  stderr.on('error', () => {});
  if (error instanceof UsageError || error instanceof ConfigError || isUnavailable(error)) {
    stderr.write(`${prefix}${program}: ${oneLine(error.message)}\n`);
    return error.exitCode;
  }
  if ((error as NodeJS.ErrnoException | null)?.code === 'MODULE_NOT_FOUND') {
    const [why] = (error as Error).message.split('\n');
    const text = `${program}: installation: ${why}: incomplete, or just being replaced`;
    stderr.write(`${prefix}${oneLine(text)} (try again, or install it again)\n`);
    return exitCode.config;
  }
  const stack = originalStack((error instanceof Error && error.stack) || String(error));
  stderr.write(
    `${program}: bug: this should not happen: please report it\n${printableLines(stack)}\n`,
  );
  return exitCode.bug;
}

/**
 * The stack with every place in a bundle replaced by its place in the sources, where the bundle has
 * a source map. The map is beside the bundle, which does not name it: Node would load it.
 */
export function originalStack(stack: string): string {
  const maps = new Map<string, SourceMap | null>();
  return stack.replace(
    /([^\s(]+\.js):(\d+):(\d+)/g,
    (position, file: string, line: string, column: string) => {
      if (!maps.has(file)) maps.set(file, mapOf(file));
      const origin = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      if (!origin || !('originalSource' in origin)) return position;
      const source = origin.originalSource.replace(/^(\.\.\/)+/, '');
      return `${source}:${origin.originalLine + 1}:${origin.originalColumn + 1}`;
    },
  );
}

function mapOf(bundle: string): SourceMap | null {
  const file = `${bundle}.map`;
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null;
}
