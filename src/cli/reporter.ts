// Turns the events of a run into lines on stderr, and decides which of them are printed and when. A
// run that succeeds without waiting prints nothing, so that cron sends no mail. Without a terminal
// a wait is printed once, after five seconds (with -v at once, and whenever the holder or the
// position changes). On a terminal a spinner shows it, and is removed before the command starts.

import type { Failed, MasterFailure } from '../lock/types.ts';
import type { RunEvent } from '../run/events.ts';
import type { Finished } from '../run/run.ts';
import { jsonLine } from '../text/json.ts';
import { oneLine } from '../text/printable.ts';
import { type Level, level } from './journal.ts';
import { endingLine, eventLine } from './run-lines.ts';
import { type Spinner, startSpinner } from './spinner.ts';
import type { Output } from './stderr.ts';

export interface ReporterSettings {
  readonly names: readonly string[];
  readonly command: readonly string[];
  readonly verbosity: 'quiet' | 'normal' | 'verbose';
  /** json: the same lines at the same moments, each as one object with the facts of the event. */
  readonly logFormat: 'text' | 'json';
  /** The trace that the run is part of; absent or null: none. */
  readonly traceId?: string | null;
}

/** How long a wait may last, in ms, before it is worth a line where there is no terminal. */
const patientMs = 5_000;

/** Events that are printed without -v. */
const warnings: ReadonlySet<RunEvent['kind']> = new Set([
  'release-unconfirmed',
  'leftovers',
  'unkillable',
  'guard-restarted',
  'missing-at-release',
]);

export class Reporter {
  readonly #settings: ReporterSettings;
  readonly #output: Output;
  readonly #hasLevels: boolean;
  #spinner: Spinner | null = null;
  /** The holder and the position in the queue that were printed last; null: none yet. */
  #mentionedWait: string | null = null;
  #noQuorumCount = 0;
  /** The failing masters, with those that failed after an attempt had ended without a quorum. */
  readonly #failing = new Map<string, Failed>();

  /** `hasLevels`: stderr is the journal, which reads a level at the beginning of a line. */
  constructor(settings: ReporterSettings, output: Output, hasLevels = false) {
    this.#hasLevels = hasLevels;
    this.#settings = settings;
    this.#output = output;
  }

  event(event: RunEvent): void {
    const { names, verbosity } = this.#settings;
    if (event.kind === 'acquired') this.#endSpinner();
    if (event.kind === 'master-failing') this.#failing.set(event.master, event.failed);
    if (event.kind === 'master-recovered') this.#failing.delete(event.master);
    if (event.kind === 'waiting') this.#waiting(event);
    else if (event.kind === 'no-quorum')
      this.#waiting({ ...event, failures: this.#completed(event.failures) });
    else if (verbosity === 'verbose' || (verbosity === 'normal' && isWarning(event))) {
      this.#say(event.kind, eventLine(names, event), event);
    }
  }

  /** Prints a fact that is no event of the run; only with -v. */
  note(line: string): void {
    if (this.#settings.verbosity === 'verbose') this.#say('note', line);
  }

  /** Prints a warning about something that was most likely not meant; not with -q. */
  warn(line: string): void {
    if (this.#settings.verbosity !== 'quiet') this.#say('warning', `warning: ${line}`);
  }

  /** Prints an error that is no event of the run, also with -q. */
  error(line: string): void {
    this.#say('error', line);
  }

  finished(finished: Finished): void {
    this.#endSpinner();
    const { names, command, verbosity } = this.#settings;
    const { cause } = finished.ending;
    const isBusy = cause.kind === 'not-acquired' && cause.acquisition.kind === 'busy';
    const line = endingLine(names, command, finished);
    if (line !== null && !(isBusy && verbosity === 'quiet')) this.#say('finished', line, finished);
  }

  #waiting(event: Extract<RunEvent, { kind: 'waiting' | 'no-quorum' }>): void {
    const { names, verbosity, logFormat } = this.#settings;
    if (verbosity === 'quiet') return;
    const line = eventLine(names, event);
    // A terminal may say that its width is 0, and the spinner divides by the width.
    if (this.#output.isTTY && Number(this.#output.columns) > 0 && logFormat === 'text') {
      this.#spinner ??= startSpinner(this.#output);
      this.#spinner.say(oneLine(line));
      return;
    }
    const state = event.kind === 'waiting' ? `${event.holder} ${event.place}` : event.kind;
    if (event.kind === 'no-quorum') this.#noQuorumCount += 1;
    // At the second attempt all masters have answered, so that the line names all of them.
    const isSurprising = hasRestarted(event) && this.#noQuorumCount > 1;
    const isDue = verbosity === 'verbose' || event.waitedMs >= patientMs || isSurprising;
    if (
      !isDue ||
      state === this.#mentionedWait ||
      (verbosity !== 'verbose' && this.#mentionedWait !== null)
    )
      return;
    this.#mentionedWait = state;
    this.#say(event.kind, line, event);
  }

  /** The failures, with those of masters that answered too late to be counted. */
  #completed(failures: readonly MasterFailure[]): MasterFailure[] {
    const known = new Set(failures.map(({ master }) => master));
    const others = [...this.#failing].filter(([master]) => !known.has(master));
    return [...failures, ...others.map(([master, failed]) => ({ master, failed }))];
  }

  #say(kind: string, message: string, facts: object = {}): void {
    this.#endSpinner();
    const { names, logFormat, traceId } = this.#settings;
    const prefix = this.#hasLevels ? `<${level[levelOf(kind, message)]}>` : '';
    const line =
      logFormat === 'text'
        ? `redlock-run: ${oneLine(message)}\n`
        : jsonLine({
            time: new Date().toISOString(),
            name: names[0],
            ...(names.length > 1 ? { names } : {}),
            ...(traceId ? { traceId } : {}),
            ...facts,
            kind,
            message,
          });
    this.#output.write(prefix + line);
  }

  #endSpinner(): void {
    this.#spinner?.stop();
    this.#spinner = null;
  }
}

/** A run that was refused is no error: its exit code says so. */
function levelOf(kind: string, message: string): Level {
  if (kind === 'finished') return message.startsWith('busy:') ? 'warning' : 'error';
  if (kind === 'error') return 'error';
  if (kind === 'waiting') return 'notice';
  return message.startsWith('warning:') ? 'warning' : 'info';
}

function isWarning(event: RunEvent): boolean {
  // With --keep-background, leftover processes are what the user asked for.
  return warnings.has(event.kind) && !(event.kind === 'leftovers' && event.isKept);
}

/**
 * Whether the run waits for masters that have restarted: printed early, as users do not expect it.
 */
function hasRestarted(event: RunEvent): boolean {
  return (
    event.kind === 'no-quorum' && event.failures.some(({ failed }) => failed.cause === 'restarted')
  );
}
