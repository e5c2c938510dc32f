// Whether a guard stands still: its state is read once in ten seconds, and soon after a deadline
// that it has not answered. A guard is never lost for being slow. *Note:* looks follow each other
// by timers of this process, so time in which it did not run itself counts for nothing.

import type { GuardProcess } from './guard-process.ts';

/** The interval of looks at a guard of which nothing bad is known. */
const calmMs = 10_000;
/** That at one that seems to stand still, and how many looks in a row must agree. */
const doubtMs = 1_000;
const doubtCount = 3;
/** A deadline that is not answered for so long is worth a look. */
const answerMs = 2_000;

export interface WatchParts {
  readonly guard: GuardProcess;
  /** Whether it is starting the command, which may block it for long. */
  readonly isStarting: () => boolean;
  /** Whether the last deadline that it has confirmed has come. */
  readonly isDeadlineNear: () => boolean;
  /** It stands still. Called once. */
  readonly onSilent: () => void;
}

export class GuardWatch {
  readonly #parts: WatchParts;
  #timer: NodeJS.Timeout | null = null;
  #doubts = 0;
  /** The request that had not been answered at the last look. */
  #unanswered: number | null = null;
  #isEnded = false;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#lookIn(calmMs);
  }

  /** Looks soon if this request is not answered. */
  async expect(answer: Promise<unknown>): Promise<void> {
    const timer = setTimeout(() => this.#doubts > 0 || this.#lookIn(0), answerMs).unref();
    await answer;
    clearTimeout(timer);
  }

  end(): void {
    this.#isEnded = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #lookIn(ms: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    // What lies in its pipe is read before the look.
    if (!this.#isEnded) {
      this.#timer = setTimeout(() => setImmediate(() => this.#look()), ms).unref();
    }
  }

  #look(): void {
    if (this.#isEnded) return;
    const { guard, onSilent } = this.#parts;
    const { unanswered } = guard;
    const isOwing = unanswered !== null && (unanswered === this.#unanswered || this.#doubts === 0);
    this.#doubts = this.#seemsStill(isOwing) ? this.#doubts + 1 : 0;
    this.#unanswered = unanswered;
    if (this.#doubts >= doubtCount) {
      this.end();
      return onSilent();
    }
    this.#lookIn(this.#doubts > 0 || unanswered !== null ? doubtMs : calmMs);
  }

  #seemsStill(isOwing: boolean): boolean {
    const { guard, isStarting, isDeadlineNear } = this.#parts;
    switch (guard.state) {
      case 'R':
        return false; // Starved: it waits for a processor.
      case 'D':
        return isOwing && isDeadlineNear();
      case 'T':
      case 't':
      case 'X':
      case 'Z':
        return true;
      default:
        return isOwing && !isStarting();
    }
  }
}
