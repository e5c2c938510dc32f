// AbortController and AbortSignal, in place of Node's while a world runs: a sixth of all CPU time
// went into their events, reasons and weak references. They do what src/ can notice: the same order
// of calls, and the same warning about too many listeners. *Note:* a reason that is not given is
// undefined.

type Listener = () => void;

/** As Node's: one more is a leak, of which it warns once for each signal. */
const mostListeners = 10;

class SimAbortSignal {
  reason: unknown;
  #isAborted = false;
  #listeners: Listener[] = [];
  /** Of a signal made of others: those, or what they are made of. */
  #sources: Set<SimAbortSignal> | null = null;
  #dependants: SimAbortSignal[] = [];
  #hasWarned = false;

  get aborted(): boolean {
    return this.#isAborted;
  }

  addEventListener(_type: 'abort', listener: Listener): void {
    if (this.#isAborted || this.#listeners.includes(listener)) return;
    this.#listeners.push(listener);
    if (this.#listeners.length > mostListeners && !this.#hasWarned) {
      this.#hasWarned = true;
      process.emitWarning(`${this.#listeners.length} abort listeners`, 'MaxListenersExceeded');
    }
  }

  removeEventListener(_type: 'abort', listener: Listener): void {
    const index = this.#listeners.indexOf(listener);
    // A list that is being called stays as it is; `abort` looks whether each is still wanted.
    if (index >= 0) this.#listeners = this.#listeners.toSpliced(index, 1);
  }

  /** Its own listeners first, and then the signals that are made of it. */
  abort(reason?: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.reason = reason;
    for (const listener of this.#listeners) if (this.#listeners.includes(listener)) listener();
    this.#listeners = [];
    for (const dependant of this.#dependants) dependant.abort(reason);
    this.#dependants = [];
  }

  static any(signals: readonly (SimAbortSignal | AbortSignal)[]): SimAbortSignal {
    const made = new SimAbortSignal();
    made.#sources = new Set();
    for (const signal of signals) {
      if (signal.aborted) {
        made.abort(signal.reason);
        return made;
      }
      if (!(signal instanceof SimAbortSignal)) {
        // One of Node's, from a test beside the world.
        signal.addEventListener('abort', () => made.abort(signal.reason));
        continue;
      }
      for (const source of signal.#sources ?? [signal]) {
        if (made.#sources.has(source)) continue;
        made.#sources.add(source);
        source.#dependants.push(made);
      }
    }
    return made;
  }
}

class SimAbortController {
  readonly signal = new SimAbortSignal();

  abort(reason?: unknown): void {
    this.signal.abort(reason);
  }
}

const real = {
  AbortController: globalThis.AbortController,
  AbortSignal: globalThis.AbortSignal,
};

/** Returns the function that restores the real ones. */
export function installAbort(): () => void {
  const simulated: unknown = { AbortController: SimAbortController, AbortSignal: SimAbortSignal };
  Object.assign(globalThis, simulated);
  return () => Object.assign(globalThis, real);
}
