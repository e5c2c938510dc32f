// Who may start servers now: one process at a time, over files in the private folder. A turn is a file `turn.<n>`, made
// exclusively; the highest number has the turn until it writes `done` into it or lifetimeMs have passed. Not a lock for
// anything that takes longer than that.
//
// The surprise: nothing that could be alive is ever removed. Locks that take over by removing a dead holder's file can
// remove the file of whoever took over a moment earlier; here a successor makes the next number, which only one can. The
// highest file stays, done, for the next to count from; nothing needs a heartbeat, a pid or a signal handler.

import { closeSync, fstatSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** A turn that was not ended by then is over, by the wall clock, which goes on while the machine sleeps. */
export const lifetimeMs = 10_000;

/** No server is started later in a turn than this: what remains of it is enough to see it up or to end it. */
const freshMs = 3_000;

export interface Turn {
  /** Whether something may still be begun in this turn. Ask at the last moment: the process may have been stopped. */
  isFresh(): boolean;
  /** The next may go. */
  end(): void;
}

/** A turn, or null when someone else has it; then ask again in a few milliseconds. Throws what node:fs throws. */
export function takeTurn(directory: string): Turn | null {
  const latest = latestTurn(directory);
  if (latest > 0 && !isOver(turnFile(directory, latest))) return null;
  const mine = latest + 1;
  const file = openExclusively(turnFile(directory, mine));
  if (file === null) return null;
  if (latestTurn(directory) !== mine) {
    // We looked long ago; others have come and gone since, and their lower numbers were free again.
    closeSync(file);
    rmSync(turnFile(directory, mine), { force: true });
    return null;
  }
  for (const number of turns(directory))
    if (number < mine) rmSync(turnFile(directory, number), { force: true });
  const takenAt = fstatSync(file).mtimeMs;
  return {
    isFresh: () => Math.abs(Date.now() - takenAt) < freshMs,
    end() {
      writeSync(file, 'done\n'); // Into the open file: if we are over time it may be gone, and must not come back.
      closeSync(file);
    },
  };
}

function isOver(path: string): boolean {
  const status = statSync(path, { throwIfNoEntry: false });
  return (
    status === undefined || status.size > 0 || Math.abs(Date.now() - status.mtimeMs) > lifetimeMs
  );
}

function openExclusively(path: string): number | null {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw error;
  }
}

function latestTurn(directory: string): number {
  return Math.max(0, ...turns(directory));
}

function turns(directory: string): number[] {
  return readdirSync(directory).flatMap((name) => {
    const match = /^turn\.(\d+)$/.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
}

function turnFile(directory: string, number: number): string {
  return join(directory, `turn.${number}`);
}
