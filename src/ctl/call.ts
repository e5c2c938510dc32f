// One call of redlockctl: what a verb is given. Its settings are the masters, and the times after
// which a master counts as silent, or no longer as restarted. Verbs return their exit code and
// touch no global. Messages for people go to stderr, so that stdout can always be redirected to a
// file.

import type { TonedLine } from '../cli/colour.ts';
import type { Output as StderrOutput } from '../cli/stderr.ts';
import type { OptionValues } from '../config/arguments.ts';
import { type LockSettings, readLockSettings } from '../config/lock.ts';
import { type MasterSettings, readMasterSettings } from '../config/masters.ts';
import { type ExecutionContext, Sources } from '../config/sources.ts';
import { readBoolean, readPositiveDuration, readTtl } from '../config/values.ts';
import type { Clock } from '../lock/ports.ts';
import { runTimings } from '../lock/timings.ts';
import type { HolderRecord } from '../lock/value.ts';
import type { VerbArguments } from './command-line.ts';
import type { Screen } from './top/screen.ts';

// Text for stdout, and when it has been written: a pipe takes only what it has room for, and the
// rest would be lost when the program ends. *Note:* each print is awaited by itself, because Bun
// confirms an empty one before those in front of it, and reports an error only for the print that
// met it.

/** The part of a stream that is used here. */
export interface Sink {
  write(text: string, onWritten: (error?: Error | null) => void): unknown;
}

export class Output {
  readonly #sink: Sink;
  readonly #onError: (error: Error) => void;
  #printed: Promise<unknown> = Promise.resolve();

  constructor(sink: Sink, onError: (error: Error) => void) {
    this.#sink = sink;
    this.#onError = onError;
  }

  print(text: string): void {
    const written = new Promise<void>((resolve) => {
      this.#sink.write(text, (error) => {
        if (error) this.#onError(error);
        resolve();
      });
    });
    this.#printed = Promise.all([this.#printed, written]);
  }

  /** Resolves when everything printed so far has been written, or has failed. */
  async flushed(): Promise<void> {
    await this.#printed;
  }
}

// *Note:* `ttl` is what redlock-run would use under the same configuration; of a lock that was
// acquired with another one only the remaining time is known.

export interface CtlSettings extends MasterSettings, LockSettings {
  readonly ttlMs: number;
  /** Whether `acquire` and `hold` share the lock with other shared holders. */
  readonly isShared: boolean;
  /** How long one master may take to answer one question. */
  readonly masterTimeoutMs: number;
}

/** @throws UsageError (64), ConfigError (78) */
export async function readSettings(
  options: OptionValues,
  around: ExecutionContext,
): Promise<CtlSettings> {
  const sources = await Sources.read(options, around);
  const ttlMs = sources.get('ttl', readTtl)?.value ?? 30_000;
  const masterTimeoutMs = sources.get('masterTimeout', readPositiveDuration)?.value ?? null;
  const timings = runTimings(ttlMs, masterTimeoutMs, null);
  const lock = readLockSettings(sources);
  const masters = await readMasterSettings(sources, ttlMs);
  const isShared = sources.must('shared', readBoolean);
  const { masterTimeoutMs: timeoutMs } = timings;
  return { ...masters, ...lock, isShared, ttlMs, masterTimeoutMs: timeoutMs };
}

/** A process, told apart from a later one of the same number. */
export interface OwnerProcess {
  readonly pid: number;
  readonly startedAt: number;
}

/** The processes of this machine, as far as a lock is held for one of them. */
export interface Processes {
  /** null: there is no such process. */
  ownerOf(pid: number): OwnerProcess | null;
  /** The process that has called this program. */
  caller(): OwnerProcess | null;
  isThere(owner: OwnerProcess): boolean;
  /** Why redlock-run cannot keep the processes of a command together here; null: it can. */
  whyNotKept(): Promise<string | null>;
}

/** The variable that makes `hold` the daemon: pid and start of the process it holds for. */
export const holderRoleName = 'REDLOCK_RUN_HOLDER';

export interface Call {
  readonly args: VerbArguments;
  readonly settings: CtlSettings;
  readonly clock: Clock;
  /** This process, as the note in the value of a key. */
  readonly holderRecord: () => HolderRecord;
  readonly environment: NodeJS.ProcessEnv;
  /** This program with these very arguments, to be started once more. */
  readonly program: {
    readonly file: string;
    readonly args: readonly string[];
    readonly argv0: string;
  };
  readonly processes: Processes;
  /** From now on a signal that would end redlockctl aborts this instead: no step is cut short. */
  readonly interrupted: () => AbortSignal;
  /**
   * To stdout, without control characters. `overLines`: how many lines that are already on the
   * terminal are overwritten.
   */
  readonly print: (text: string, overLines?: number) => void;
  /** The same for lines with a tone, which decides their colour where there are colours. */
  readonly printLines: (lines: readonly TonedLine[], overLines?: number) => void;
  /** Resolves when all that was printed has been written. */
  readonly flushed: () => Promise<void>;
  /** stderr, for a line that changes. */
  readonly stderr: StderrOutput;
  /** To stderr, for people. */
  readonly tell: (text: string) => void;
  /** Asks a person; null without a terminal to ask on. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** The width of the terminal that is stdout; null: stdout is no terminal, or has no width. */
  readonly columns: number | null;
  /** Takes the whole terminal; null when there is none. */
  readonly openScreen: (() => Promise<Screen>) | null;
}
