// How long redlock-run waits for what it can also do itself. What has arrived is read before the
// wait is over.

/** The guard may have acted in the last moment: its answer is read within so long. */
const readMs = 50;

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
