// How long redlock-run waits for its guard. What has arrived is read before a wait is over: a timer
// that fires late says nothing of the guard.

/** A timer that is later by so much says that this process did not run meanwhile. */
const stallMs = 100;
/** The guard may have acted in the last moment: its answer is read within so long. */
const readMs = 50;

/**
 * Calls back when so many ms have passed in which this process ran, and what had arrived by then is
 * read. Returns the function that ends that.
 */
export function within(limitMs: number, onOver: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const wait = (ms: number) => {
    const dueAt = performance.now() + ms;
    timer = setTimeout(() => {
      const lateMs = performance.now() - dueAt;
      if (lateMs > stallMs) wait(Math.min(lateMs, limitMs));
      else setImmediate(() => isEnded || onOver());
    }, ms).unref();
  };
  wait(limitMs);
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

/** null: it has not come within so many ms and a moment. */
export async function soon<Result>(
  awaited: Promise<Result>,
  withinMs: number,
): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => setImmediate(() => resolve(null)), withinMs + readMs);
  });
  const result = await Promise.race([awaited, late]);
  clearTimeout(timer);
  return result;
}

/** Does not keep the program alive. */
export function after(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}
