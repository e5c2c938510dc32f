// The composition root of redlockctl, the program for operators of locks: words, environment and
// terminal in, exit code out. Each verb is loaded when it is called, so that `status` in a loop
// does not load the full screen.

import os from 'node:os';
import { createInterface } from 'node:readline/promises';
import { reportFailure, reportOutputFailure } from '../cli/failure.ts';
import { renderVersion } from '../cli/help.ts';
import { checkArgumentBytes } from '../config/arguments.ts';
import { executionContext } from '../config/sources.ts';
import { parseWords } from '../ctl/arguments.ts';
import type { Call } from '../ctl/call.ts';
import { renderHelp, renderVerbHelp } from '../ctl/help.ts';
import { Output } from '../ctl/output.ts';
import { readSettings } from '../ctl/settings.ts';
import type { Screen } from '../ctl/top/screen.ts';
import type { VerbName } from '../ctl/verb-table.ts';
import { LocalError } from '../local/errors.ts';
import type { HolderNote } from '../lock/value.ts';
import { ciJobUrl } from '../system/ci-job.ts';
import { createSystemClock } from '../system/clock.ts';
import { userName } from '../system/user.ts';
import { printableLines } from '../text/printable.ts';
import { callerOf, isThere, ownerOf, whyNotKept } from './owner-process.ts';

type Verb = (call: Call) => Promise<number>;

/** All verbs but completion, which must work without any configuration. */
const verbs: Readonly<Record<Exclude<VerbName, 'completion'>, () => Promise<Verb>>> = {
  status: async () => (await import('../ctl/status.ts')).status,
  list: async () => (await import('../ctl/list.ts')).list,
  top: async () => (await import('../ctl/top/top.ts')).top,
  history: async () => (await import('../ctl/history/history.ts')).history,
  stop: async () => (await import('../ctl/people/stop.ts')).stop,
  break: async () => (await import('../ctl/break.ts')).breakLock,
  freeze: async () => (await import('../ctl/people/freeze.ts')).freeze,
  thaw: async () => (await import('../ctl/people/freeze.ts')).thaw,
  acquire: async () => (await import('../ctl/steps/acquire.ts')).acquireLock,
  hold: async () => (await import('../ctl/steps/hold.ts')).hold,
  extend: async () => (await import('../ctl/steps/steps.ts')).extend,
  release: async () => (await import('../ctl/steps/steps.ts')).release,
  check: async () => (await import('../ctl/steps/steps.ts')).check,
  metrics: async () => (await import('../ctl/metrics/metrics.ts')).metrics,
  doctor: async () => (await import('../ctl/doctor/doctor.ts')).doctor,
  acl: async () => (await import('../ctl/doctor/acl.ts')).acl,
  wait: async () => (await import('../ctl/steps/wait.ts')).waitUntilFree,
  local: async () => (await import('../ctl/local.ts')).local,
};

/** How this program is started; the standalone executable passes its own. */
const ourselves = { file: process.execPath, words: process.argv.slice(1, 2) };

/** Returns the exit code. Never rejects. */
export async function main(argv: readonly string[], program = ourselves): Promise<number> {
  const endBy = (error: Error) => process.exit(reportOutputFailure('redlockctl', error));
  process.stdout.on('error', endBy);
  const output = new Output(process.stdout, endBy);
  try {
    const code = await answer(argv, program, output);
    await output.flushed();
    return code;
  } catch (error) {
    return reportFailure('redlockctl', error, (other) => other instanceof LocalError);
  }
}

async function answer(
  argv: readonly string[],
  program: typeof ourselves,
  output: Output,
): Promise<number> {
  const { stdin, stdout, stderr, env: environment } = process;
  checkArgumentBytes(argv);
  const words = parseWords(argv);
  if (words.kind !== 'verb') {
    if (words.kind === 'version') output.print(renderVersion('redlockctl'));
    else output.print(words.row === null ? renderHelp() : renderVerbHelp(words.row));
    return 0;
  }
  const around = executionContext(environment);
  const clock = createSystemClock();
  if (words.row.verb === 'completion') {
    const { completion } = await import('../ctl/completion/completion.ts');
    output.print(await completion(words.operands, around, clock));
    return 0;
  }
  const settings = await readSettings(words.flags, around);
  const tell = (line: string) => stderr.write(`redlockctl: ${printableLines(line)}\n`);
  for (const caution of settings.cautions) tell(`warning: ${caution}`);
  const verb = await verbs[words.row.verb]();
  return verb({
    words,
    settings,
    clock,
    note,
    environment,
    program: { file: program.file, words: [...program.words, ...argv], argv0: 'redlockctl' },
    processes: { ownerOf, caller: () => callerOf(process.ppid), isThere, whyNotKept },
    interrupted,
    flushed: () => output.flushed(),
    // Moves back to the first of these lines and clears what follows.
    print: (text, over = 0) =>
      output.print((over === 0 ? '' : `\x1b[${over}F\x1b[J`) + printableLines(text)),
    stderr,
    tell,
    ask: stdin.isTTY && stderr.isTTY ? ask : null,
    columns: stdout.isTTY && stdout.columns > 0 ? stdout.columns : null,
    openScreen: stdin.isTTY && stdout.isTTY ? openScreen : null,
  });
}

function note(): HolderNote {
  const since = new Date().toISOString();
  const url = ciJobUrl(process.env);
  const identity = { host: os.hostname(), pid: process.pid, user: userName(), since };
  return { ...identity, label: 'redlockctl', ...(url === null ? {} : { url }) };
}

/** Aborts at a signal. At its exit the program dies of the signal, after the rollback. */
function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      controller.abort(signal);
      process.once('exit', () => process.kill(process.pid, signal));
    });
  }
  return controller.signal;
}

async function openScreen(): Promise<Screen> {
  const { Screen } = await import('../ctl/top/screen.ts');
  return new Screen(process.stdin, process.stdout);
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return terminal.question(printableLines(question)).finally(() => terminal.close());
}
