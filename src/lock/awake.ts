// How long another process is waited for: in time in which this one ran. A limit that passes while
// this process was stopped or starved says nothing of a master or of a guard. *Note:* the deadlines
// of a lock are not of this kind: they are absolute.

import type { Clock } from './ports.ts';

const partCount = 10;

/**
 * Sleeps for so long in parts, and counts only the time that this process was awake: a part that
 * takes longer, because the machine is too busy, still counts as one part. Between two parts
 * what has arrived is read, so that a process whose answer is unread does not count as mute. The
 * last part, of 1 ms, is there for that alone. Resolves at once when `cancelled` aborts.
 */
export async function sleepAwake(
  clock: Clock,
  durationMs: number,
  cancelled: AbortSignal,
): Promise<void> {
  for (let part = 0; part < partCount && !cancelled.aborted; part += 1) {
    await clock.sleep(durationMs / partCount, cancelled);
  }
  await clock.sleep(1, cancelled);
}
