// The entry of redlock-run: arguments, environment and signals in, exit code out. job.ts puts the
// parts of a run together.

import { reportFailure, reportOutputFailure } from '../cli/failure.ts';
import { helpColumns, renderHelp, renderVersion } from '../cli/help.ts';
import { renderPlan } from '../cli/plan.ts';
import { Reporter } from '../cli/reporter.ts';
import { openStderr } from '../cli/stderr.ts';
import { checkArgumentBytes } from '../config/argument-bytes.ts';
import { type Arguments, parseArguments, type RunArguments } from '../config/arguments.ts';
import { executionContext } from '../config/execution-context.ts';
import { warningLine } from '../config/layer.ts';
import { checkReportPath } from '../config/output-file.ts';
import { resolveSettings, type Settings } from '../config/settings.ts';
import { LocalError } from '../local/error.ts';
import { areTooFew, checkDescriptors, RunError, tooFew } from '../run/preconditions.ts';
import { leaveTerminal, raiseAgain } from '../run/terminal.ts';
import { ciJobUrl, traceIdOf } from '../system/caller.ts';
import { OutputError } from '../text/errors.ts';

/** Descriptors are counted for so many at least: the masters of --local are not in the list. */
const minMasters = 3;

/**
 * `argv`: the arguments after the program's name; `folder`: that of the program. Resolves with the
 * exit code, unless a signal that ended the run has been raised again. Never rejects.
 */
export async function main(argv: readonly string[], folder: string): Promise<number> {
  let args: Arguments | null = null;
  let settings: Settings | null = null;
  try {
    checkArgumentBytes(argv);
    args = parseArguments(argv);
    if (args.kind === 'help') return await print(renderHelp(helpColumns(process.stdout)));
    if (args.kind === 'version') return await print(renderVersion('redlock-run'));
    settings = await resolveSettings(args, executionContext(process.env));
    if (args.dryRun) return await print(renderPlan(settings));
    checkDescriptors(Math.max(settings.masters.length, minMasters));
    const { runJob } = await import('./job.ts');
    const stderr = openStderr();
    const reporter = new Reporter(settings, stderr.output, process.env);
    for (const warning of settings.warnings) reporter.warn(warning);
    for (const warning of settings.minorWarnings) reporter.minorWarning(warningLine(warning));
    const { code, signal } = await runJob(settings, reporter, folder).finally(stderr.flush);
    leaveTerminal();
    if (signal !== null) await raiseAgain(signal);
    return code;
  } catch (error) {
    const code = reportFailure(
      'redlock-run',
      areTooFew(error) ? new RunError(tooFew) : error,
      isUnavailable,
      { stderr: process.stderr, environment: process.env },
    );
    if (args?.kind === 'run' && !args.dryRun) await writeFailure(args, settings, code);
    return code;
  }
}

/** Writes the report of a run that failed, unless it is the path of the report that is wrong. */
async function writeFailure(
  { names, options }: RunArguments,
  settings: Settings | null,
  code: number,
): Promise<void> {
  if (options.report === null) return;
  const { env } = process;
  try {
    const file = checkReportPath(options.report, executionContext(env).cwd);
    const { failureReportOf, writeReport } = await import('../cli/report.ts');
    const silent = settings?.masters.map(({ name }) => name) ?? [];
    const seen = {
      masters: { ok: [], failed: [], silent },
      note: settings?.note ?? null,
      url: ciJobUrl(env),
      traceId: traceIdOf(env),
    };
    if (file !== null) writeReport(file, failureReportOf(names, seen, code));
  } catch {
    // The line on stderr and the exit status have told of the failure.
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
