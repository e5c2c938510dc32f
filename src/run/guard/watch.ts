// Whether a guard stands still: its state is read once in ten seconds, and where it has not
// answered one deadline when the next is sent. A guard is never lost for being slow. *Note:* looks
// follow each other by timers of this process, so time in which it did not run itself counts for
// nothing.

import type { GuardProcess } from './guard-process.ts';

/** The interval of looks at a guard of which nothing bad is known. */
const untroubledMs = 10_000;
/** That at one that seems to stand still, and how many looks in a row must agree. */
const stillMs = 1_000;
const stillLooks = 3;

export interface WatchParts {
  readonly guard: GuardProcess;
  /** Whether it is starting the command, which may block it for long. */
  readonly isStarting: () => boolean;
  /** Whether the last deadline that it has confirmed has come. */
  readonly isDeadlineOver: () => boolean;
  /** A look is about to be taken. */
  readonly onLook: () => void;
  /** It stands still. Called once. */
  readonly onSilent: () => void;
}

export class GuardWatch {
  readonly #parts: WatchParts;
  #timer: NodeJS.Timeout | null = null;
  #stillCount = 0;
  /** The request that had not been answered at the last look. */
  #unanswered: number | null = null;
  #isEnded = false;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#lookIn(untroubledMs);
  }

  /** To be called before a deadline is sent: looks at once if the one before is not answered. */
  expectAnswers(): void {
    if (this.#parts.guard.unanswered !== null && this.#stillCount === 0) this.#lookIn(0);
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
    const { guard, onLook, onSilent } = this.#parts;
    onLook();
    const { unanswered } = guard;
    const isOwing =
      unanswered !== null && (unanswered === this.#unanswered || this.#stillCount === 0);
    const isStill = this.#isStill(isOwing);
    this.#stillCount = isStill ? this.#stillCount + 1 : 0;
    this.#unanswered = unanswered;
    if (this.#stillCount >= stillLooks) {
      this.end();
      return onSilent();
    }
    this.#lookIn(this.#stillCount > 0 || unanswered !== null ? stillMs : untroubledMs);
  }

  #isStill(isOwing: boolean): boolean {
    try {
      // One with a thread that is runnable is starved: it waits for a processor.
      return this.#seemsStill(isOwing) && !this.#parts.guard.isRunnable;
    } catch {
      return false; // Its state cannot be read now: descriptors have run out, for example.
    }
  }

  #seemsStill(isOwing: boolean): boolean {
    const { guard, isStarting, isDeadlineOver } = this.#parts;
    switch (guard.state) {
      case 'D':
        // Bun starts a command so that the guard waits for it in the kernel.
        return isOwing && !isStarting() && isDeadlineOver();
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
