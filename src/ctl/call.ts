// One call of redlockctl: what a verb is given. Verbs return their exit code and touch no global. The surprise: people are talked to
// on stderr and answered from stdin, so that what a verb prints on stdout can always go into a file.

import type { HolderNote } from '../lock/holder.ts';
import type { Clock } from '../lock/ports.ts';
import type { CtlSettings } from './settings.ts';
import type { Screen } from './top/screen.ts';
import type { VerbWords } from './words.ts';

export interface Call {
  readonly words: VerbWords;
  readonly settings: CtlSettings;
  readonly clock: Clock;
  /** Who calls, as a note for what a key holds. */
  readonly note: () => HolderNote;
  readonly environment: NodeJS.ProcessEnv;
  /** From now on a signal that would end us aborts this instead, so that nothing is left half done. */
  readonly interrupted: () => AbortSignal;
  /** To stdout. */
  readonly print: (text: string) => void;
  /** To stderr, for people. */
  readonly tell: (text: string) => void;
  /** Asks a person; null without a terminal to ask on. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** The width of the terminal that stdout is; null when it is none. */
  readonly columns: number | null;
  /** Takes the whole terminal; null when there is none. */
  readonly openScreen: (() => Promise<Screen>) | null;
}
