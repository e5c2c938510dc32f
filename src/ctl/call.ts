// One call of redlockctl: what a verb is given. Verbs return their exit code and touch no global.
// People are talked to on stderr and answered from stdin, so that what a verb prints on stdout can
// always go into a file.

import type { Clock } from '../lock/ports.ts';
import type { HolderNote } from '../lock/value.ts';
import type { CtlSettings } from './settings.ts';
import type { Screen } from './top/screen.ts';
import type { VerbWords } from './words.ts';

/** A process, told apart from a later one of the same number. */
export interface OwnerProcess {
  readonly pid: number;
  readonly startedAt: number;
}

/** The processes of this machine, as far as a lock is held for one of them. */
export interface Processes {
  /** null: there is none. */
  ownerOf(pid: number): OwnerProcess | null;
  /** Who has called this program. */
  caller(): OwnerProcess | null;
  isThere(owner: OwnerProcess): boolean;
  /** Why redlock-run cannot keep the processes of a command together here; null: it can. */
  whyNotKept(): Promise<string | null>;
}

export interface Call {
  readonly words: VerbWords;
  readonly settings: CtlSettings;
  readonly clock: Clock;
  /** Who calls, as a note for what a key holds. */
  readonly note: () => HolderNote;
  readonly environment: NodeJS.ProcessEnv;
  /** This program with these very words, to be started once more. */
  readonly program: {
    readonly file: string;
    readonly words: readonly string[];
    readonly argv0: string;
  };
  readonly processes: Processes;
  /** From now on a signal that would end us aborts this instead, so that nothing is left half done. */
  readonly interrupted: () => AbortSignal;
  /**
   * To stdout; what others wrote into it cannot act. On a terminal over so many lines that stand
   * there.
   */
  readonly print: (text: string, overLines?: number) => void;
  /** Resolves when all that was printed has been taken. */
  readonly flushed: () => Promise<void>;
  /** To stderr, for people. */
  readonly tell: (text: string) => void;
  /** Asks a person; null without a terminal to ask on. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** The width of the terminal that stdout is; null when it is none, or one of no width. */
  readonly columns: number | null;
  /** Takes the whole terminal; null when there is none. */
  readonly openScreen: (() => Promise<Screen>) | null;
}
