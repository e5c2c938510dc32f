// One call of redlockctl: what a verb is given. Verbs return their exit code and touch no global.
// Messages for people go to stderr, so that stdout can always be redirected to a file.

import type { TonedLine } from '../cli/colour.ts';
import type { Output as StderrOutput } from '../cli/stderr.ts';
import type { Clock } from '../lock/ports.ts';
import type { HolderRecord } from '../lock/value.ts';
import type { VerbArguments } from './command-line.ts';
import type { Screen } from './screen.ts';
import type { CtlSettings } from './settings.ts';

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
  whyUnguarded(): Promise<string | null>;
}

/** The variable that makes `hold` the daemon: pid and start of the process it holds for. */
export const holderRoleName = 'REDLOCK_RUN_HOLDER';

export interface Call {
  readonly args: VerbArguments;
  readonly settings: CtlSettings;
  readonly clock: Clock;
  /** This process, as it stands in the value of a key. */
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
