// Turns the events of a run into lines on stderr, and decides which of them are printed and when. A
// run that succeeds without waiting prints nothing, so that cron sends no mail. A wait has its own
// notice: wait-notice.ts.

import type { Settings } from '../config/settings.ts';
import type { RunEvent, RunRecord } from '../run/record.ts';
import { isRefused } from '../text/ends.ts';
import { jsonLine, oneLine } from '../text/foreign-text.ts';
import {
  closingLineOf,
  eventLine,
  type Requested,
  type WaitEvent,
  warningOf,
} from './run-lines.ts';
import { type Level, type Output, prefixOf } from './stderr.ts';
import { WaitNotice, waitStateOf } from './wait-notice.ts';

/** `logFormat` json: the same lines at the same moments, each as one object with the facts. */
type Reported = Requested & Pick<Settings, 'verbosity' | 'logFormat' | 'traceId'>;

export class Reporter {
  readonly #settings: Reported;
  readonly #output: Output;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #notice: WaitNotice;
  /** The event of the wait that came last. */
  #waitEvent: WaitEvent | null = null;

  constructor(settings: Reported, output: Output, environment: NodeJS.ProcessEnv) {
    this.#settings = settings;
    this.#output = output;
    this.#environment = environment;
    const { names, waitMs, logFormat } = settings;
    const print = (line: string, paint: (line: string) => string, waitedMs: number) => {
      const { kind = 'waiting' } = this.#waitEvent ?? {};
      const levelName = kind === 'waiting' ? 'notice' : 'info';
      this.#print(levelName, kind, line, { ...this.#waitEvent, waitedMs }, paint);
    };
    const log = logFormat === 'json' ? { write: (text: string) => output.write(text) } : output;
    this.#notice = new WaitNotice(names, waitMs, print, log, environment);
  }

  event(event: RunEvent): void {
    const { names, verbosity } = this.#settings;
    if (event.kind === 'acquired') this.#notice.end();
    if (event.kind === 'waiting' || event.kind === 'no-quorum') this.#waiting(event);
    else {
      const warning = warningOf(event);
      if (verbosity === 'verbose' || (verbosity === 'normal' && warning === 'always'))
        this.#print(warning ? 'warning' : 'info', event.kind, eventLine(names, event), event);
    }
  }

  /** Prints a fact that is no event of the run; only with -v. */
  detail(line: string): void {
    if (this.#settings.verbosity === 'verbose') this.#print('info', 'detail', line);
  }

  /** Prints a warning about something that should be corrected one day; only with -v. */
  minorWarning(line: string): void {
    const { verbosity } = this.#settings;
    if (verbosity === 'verbose') this.#print('warning', 'detail', `warning: ${line}`);
  }

  /** Prints a warning about something that was most likely not meant; not with -q. */
  warn(line: string): void {
    if (this.#settings.verbosity !== 'quiet') this.#print('warning', 'warning', `warning: ${line}`);
  }

  /** Prints an error that is no event of the run, also with -q. */
  error(line: string): void {
    this.#print('error', 'error', line);
  }

  finished(record: RunRecord): void {
    this.#notice.end();
    const wasRefused = isRefused(record.cause);
    const line = closingLineOf(this.#settings, record);
    if (line === null || (wasRefused && this.#settings.verbosity === 'quiet')) return;
    // A run that was refused is no error: its exit code says so.
    this.#print(wasRefused ? 'warning' : 'error', 'finished', line, record);
  }

  #waiting(event: WaitEvent): void {
    const { verbosity, waitMs, slotCount } = this.#settings;
    // A run that does not wait may have to repeat an attempt.
    if (verbosity === 'quiet' || waitMs === 0) return;
    this.#waitEvent = event;
    const state = waitStateOf(event, slotCount);
    const isVerbose = verbosity === 'verbose';
    const verbose = { key: verboseKeyOf(event), printAfterMs: 0 };
    this.#notice.update({ ...state, ...(isVerbose ? verbose : {}) }, event.waitedMs);
  }

  #print(
    levelName: Level,
    kind: string,
    message: string,
    facts: object = {},
    paint = (line: string) => line,
  ): void {
    this.#notice.interrupt();
    const { names, logFormat, traceId } = this.#settings;
    const line =
      logFormat === 'text'
        ? `redlock-run: ${paint(oneLine(message))}\n`
        : jsonLine({
            time: new Date().toISOString(),
            name: names[0],
            ...(names.length > 1 ? { names } : {}),
            ...(traceId ? { traceId } : {}),
            ...facts,
            kind,
            message,
          });
    this.#output.write(prefixOf(levelName, this.#environment) + line);
  }
}

/** Changes with our position in the queue, too. */
function verboseKeyOf(event: WaitEvent): string {
  if (event.kind === 'no-quorum') return event.kind;
  return event.holder === '' ? '' : `${event.position} ${event.holder}`;
}
