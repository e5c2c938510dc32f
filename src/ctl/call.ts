// One call of redlockctl: what a verb is given. Verbs return their exit code and touch no global.
// Messages for people go to stderr, so that stdout can always be redirected to a file.

import type { TonedLine } from '../cli/colour.ts';
import type { Output as StderrOutput } from '../cli/stderr.ts';
import type { Clock } from '../lock/ports.ts';
import type { HolderRecord } from '../lock/value.ts';
import type { Screen } from './screen.ts';
import type { CtlSettings } from './settings.ts';

/** What the command line has for the verb, by long names of options. */
export interface VerbArguments {
  readonly verb: string;
  readonly operands: readonly string[];
  /** The first operand; '': there is none. */
  readonly name: string;
  readonly has: (long: string) => boolean;
  /** The value of an option; null: it is not given. */
  readonly textOf: (long: string) => string | null;
  /** The values of an option that may be repeated. */
  readonly textsOf: (long: string) => readonly string[];
}

/** The variable that makes `hold` the daemon: pid and start of the process it holds for. */
export const holderRoleName = 'REDLOCK_RUN_HOLDER';

export interface Call {
  readonly args: VerbArguments;
  readonly settings: CtlSettings;
  readonly clock: Clock;
  /** This process, as the value of a key records it. */
  readonly holderRecord: () => HolderRecord;
  readonly environment: NodeJS.ProcessEnv;
  /** This program with these very arguments, to be started once more. */
  readonly program: {
    readonly file: string;
    readonly args: readonly string[];
    readonly argv0: string;
  };
  /** Why redlock-run cannot keep the processes of a command together here; null: it can. */
  readonly whyUnguarded: () => Promise<string | null>;
  /** From now on a signal that would end redlockctl aborts this instead: no step is cut short. */
  readonly interrupted: () => AbortSignal;
  /** To stdout, without control characters. */
  readonly print: (text: string) => void;
  /**
   * The same for lines with a tone, which decides their colour where there are colours.
   * `overLines`: how many lines that are already on the terminal they overwrite.
   */
  readonly printLines: (lines: readonly TonedLine[], overLines?: number) => void;
  /** Resolves when all that was printed has been written. */
  readonly flushed: () => Promise<void>;
  /** stderr, for a line that changes. */
  readonly stderr: StderrOutput;
  /** To stderr, for people. */
  readonly tell: (text: string) => void;
  /** Whether the operator says yes; null without a terminal to ask on. */
  readonly confirm: ((question: string) => Promise<boolean>) | null;
  /** The width of the terminal that is stdout; null: stdout is no terminal, or has no width. */
  readonly columns: number | null;
  /** Takes the whole terminal; null when there is none. */
  readonly openScreen: (() => Promise<Screen>) | null;
}
