// The entry of redlockctl, the program for operators of locks: arguments, environment and terminal
// in, exit code out. Each verb is loaded when it is called, so that `status` in a loop
// does not load the full screen.

import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import type { TonedLine } from '../cli/colour.ts';
import { type ErrorOutput, reportFailure, reportOutputFailure } from '../cli/failure.ts';
import { helpColumns, renderVersion, type Width } from '../cli/help.ts';
import { mayColour } from '../cli/stderr.ts';
import { checkArgumentBytes } from '../config/argument-bytes.ts';
import { executionContext } from '../config/execution-context.ts';
import { type Call, holderRoleName } from '../ctl/call.ts';
import { parseArguments, renderHelp, renderVerbHelp } from '../ctl/command-line.ts';
import { Output, type Sink } from '../ctl/output.ts';
import type { Screen } from '../ctl/screen.ts';
import { readSettings } from '../ctl/settings.ts';
import { LocalError } from '../local/error.ts';
import type { Clock } from '../lock/ports.ts';
import type { HolderRecord } from '../lock/value.ts';
import { raisedAgain } from '../run/signals.ts';
import { ciJobUrl, userName } from '../system/caller.ts';
import { createPlainClock, createSystemClock, maxTimerMs, systemSources } from '../system/clock.ts';
import { exitCode } from '../text/errors.ts';
import { printableLines } from '../text/foreign-text.ts';

/** How this program is started, and its folder; the executable passes its own. */
const ourselves = {
  file: process.execPath,
  args: process.argv.slice(1, 2),
  folder: path.dirname(fileURLToPath(import.meta.url)),
};

/** What a call has around it: the streams, the environment and the signals of a process. */
export interface ProcessContext {
  readonly stdin: Pick<Width, 'isTTY'>;
  readonly stdout: Sink & Width;
  readonly stderr: Call['stderr'] & ErrorOutput['stderr'];
  readonly environment: NodeJS.ProcessEnv;
  readonly interrupted: Call['interrupted'];
  /** For a verb that stays for hours. */
  readonly clockToStay: () => Clock;
  /** What an error of stdout ends. */
  readonly endBy: (error: Error) => void;
}

/** Returns the exit code. Never rejects. */
export async function main(argv: readonly string[], program = ourselves): Promise<number> {
  const { stdin, stdout, stderr, env: environment } = process;
  const endBy = (error: Error) => process.exit(reportOutputFailure('redlockctl', error));
  stdout.on('error', endBy);
  const clockToStay = () => createSystemClock(() => {}, systemSources, maxTimerMs.staying);
  const around = { stdin, stdout, stderr, environment, interrupted, clockToStay, endBy };
  return exitCodeAfter(await answer(argv, program, around));
}

/** The same for a process that goes on: the tests make hundreds of calls in one. */
export async function answer(
  argv: readonly string[],
  program: typeof ourselves,
  around: ProcessContext,
): Promise<number> {
  const output = new Output(around.stdout, around.endBy);
  try {
    const code = await perform(argv, program, around, output);
    await output.flushed();
    return code;
  } catch (error) {
    return reportFailure('redlockctl', error, (other) => other instanceof LocalError, around);
  }
}

async function perform(
  argv: readonly string[],
  program: typeof ourselves,
  around: ProcessContext,
  output: Output,
): Promise<number> {
  checkArgumentBytes(argv);
  const args = parseArguments(argv);
  const { stdout, stderr, environment } = around;
  if (args.kind === 'version') output.print(renderVersion('redlockctl'));
  const columns = helpColumns(stdout);
  if (args.kind === 'help')
    output.print(args.row === null ? renderHelp(columns) : renderVerbHelp(args.row, columns));
  if (args.kind !== 'verb') return exitCode.ok;
  const { verb, row } = args;
  const context = executionContext(environment);
  const clock = verb === 'hold' ? around.clockToStay() : createPlainClock();
  if (row.load === undefined) {
    const { completion } = await import('../ctl/completion.ts');
    output.print(await completion(args.operands, context, clock));
    return exitCode.ok;
  }
  const tell = (line: string) => stderr.write(`redlockctl: ${printableLines(line)}\n`);
  const settings = await readSettings(args.options, context).catch(async (error) => {
    if (verb === 'doctor') await reportGuard(program.folder, tell);
    throw error;
  });
  // The daemon of hold has the settings of the program that started it, which reports them.
  if (environment[holderRoleName] === undefined)
    for (const warning of settings.warnings) tell(`warning: ${warning}`);
  const run = await row.load();
  return run({
    args,
    settings,
    clock,
    tell,
    program: { file: program.file, args: [...program.args, ...argv], argv0: 'redlockctl' },
    whyUnguarded: () => whyUnguarded(program.folder),
    ...(await processCall(around, output)),
  });
}

/** What a verb is given of this process and its terminal. */
async function processCall(
  { stdin, stdout, stderr, environment, interrupted }: ProcessContext,
  output: Output,
) {
  const paint = mayColour(stdout.isTTY ?? false, environment)
    ? (await import('../cli/colour.ts')).painted
    : ({ text }: TonedLine) => text;
  return {
    environment,
    stderr,
    interrupted,
    holderRecord: () => holderRecord(environment),
    print: (text: string) => output.print(printableLines(text)),
    printLines: (lines: readonly TonedLine[], overLines?: number) => {
      const rows = lines.map((line) => paint({ ...line, text: printableLines(line.text) }));
      output.print(rows.map((row) => `${row}\n`).join(''), overLines);
    },
    flushed: () => output.flushed(),
    confirm: stdin.isTTY && stderr.isTTY ? confirm : null,
    columns: stdout.isTTY && stdout.columns ? stdout.columns : null,
    openScreen: stdin.isTTY && stdout.isTTY ? openScreen : null,
  };
}

/** Why a run could not guard its command here, found out by starting a guard; null: it could. */
async function whyUnguarded(folder: string): Promise<string | null> {
  return (await import('../run/guard-program.ts')).whyUnguarded(folder);
}

/** doctor reports whether an installation is complete before there are any masters. */
async function reportGuard(folder: string, tell: Call['tell']): Promise<void> {
  const { canGuard } = await import('../ctl/doctor/set-checks.ts');
  tell(`guard: ${(await whyUnguarded(folder)) ?? canGuard}`);
}

function holderRecord(environment: NodeJS.ProcessEnv): HolderRecord {
  const since = new Date().toISOString();
  const url = ciJobUrl(environment);
  const identity = { host: os.hostname(), pid: process.pid, user: userName(), since };
  return { ...identity, label: 'redlockctl', ...(url === null ? {} : { url }) };
}

/** The signal that stopped this program; null: none. */
let stoppedBy: NodeJS.Signals | null = null;

/** Aborts at a signal. At its exit the program dies of the signal, after the rollback. */
function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of raisedAgain) {
    process.once(signal, () => {
      stoppedBy ??= signal;
      controller.abort(signal);
      process.once('exit', () => process.kill(process.pid, signal));
    });
  }
  return controller.signal;
}

/** The exit code of a verb, or of the signal that ended it: as process 1 it does not die of one. */
function exitCodeAfter(code: number): number {
  return stoppedBy === null ? code : 128 + os.constants.signals[stoppedBy];
}

async function openScreen(): Promise<Screen> {
  const { Screen } = await import('../ctl/screen.ts');
  return new Screen(process.stdin, process.stdout);
}

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal
    .question(printableLines(`${question} [y/N] `))
    .finally(() => terminal.close());
  return /^y(es)?$/i.test(answer.trim());
}
