// The entry of redlock-run: arguments, environment and signals in, exit code out. job.ts puts the
// parts of a run together.

import { renderHelp, renderVersion } from '../cli/help.ts';
import { renderPlan } from '../cli/plan.ts';
import { Reporter } from '../cli/reporter.ts';
import { isJournal, openStderr, reportFailure, reportOutputFailure } from '../cli/stderr.ts';
import { checkArgumentBytes, parseArguments } from '../config/arguments.ts';
import { resolveSettings } from '../config/settings.ts';
import { executionContext } from '../config/sources.ts';
import { LocalError } from '../local/directory.ts';
import type { GuardSupply } from '../run/guard/guard-process.ts';
import { areTooFew, checkDescriptors, RunError, tooFew } from '../run/preconditions.ts';
import { leaveTerminal, raiseAgain } from '../run/terminal.ts';
import { OutputError } from '../text/errors.ts';

/** The number of masters of --local. */
const fewestMasters = 3;

/**
 * `argv`: the arguments after the program's name. Resolves with the exit code, unless a signal that
 * ended the run has been raised again. Never rejects.
 */
export async function main(argv: readonly string[], guards: GuardSupply): Promise<number> {
  try {
    checkArgumentBytes(argv);
    const args = parseArguments(argv);
    if (args.kind === 'help') return await print(renderHelp());
    if (args.kind === 'version') return await print(renderVersion('redlock-run'));
    const settings = await resolveSettings({ args, ...executionContext(process.env) });
    if (args.dryRun) return await print(renderPlan(settings));
    checkDescriptors(Math.max(settings.masters.length, fewestMasters));
    const { runJob } = await import('./job.ts');
    const stderr = openStderr();
    const reporter = new Reporter(settings, stderr.output, isJournal(process.env));
    for (const warning of settings.warnings) reporter.warn(warning);
    const { code, signal } = await runJob(settings, reporter, guards).finally(stderr.flush);
    leaveTerminal();
    if (signal !== null) await raiseAgain(signal);
    return code;
  } catch (error) {
    return reportFailure(
      'redlock-run',
      areTooFew(error) ? new RunError(tooFew) : error,
      isUnavailable,
    );
  }
}

/** Resolves with the exit code, when the text is written or cannot be. */
function print(text: string): Promise<number> {
  const { stdout } = process;
  stdout.on('error', () => {}); // The callback gets the error too.
  return new Promise((resolve) => {
    stdout.write(text, (error) => resolve(error ? reportOutputFailure('redlock-run', error) : 0));
  });
}

/**
 * Whether this machine lacks something: local masters, a guard, isolation, a file for the report.
 */
function isUnavailable(error: unknown): error is LocalError | RunError | OutputError {
  return error instanceof LocalError || error instanceof RunError || error instanceof OutputError;
}
