// The turn to start local masters: one process at a time, by files in the private folder. A turn is
// a file `turn.<n>`, created exclusively; the highest number has the turn until `done` is written
// into it or lifetimeMs have passed. It is no lock for anything that takes longer. *Invariant:* no
// file of a process that may be alive is removed. A lock that is taken over by removing the file of
// a dead holder may remove the file of another process that took over a moment earlier. Here the
// next process creates the next number, which only one can. The highest file stays, so that the
// next number is known.

import { closeSync, fstatSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** How long a turn lasts at most, by the wall clock, which goes on while the machine sleeps. */
export const lifetimeMs = 10_000;

/**
 * No server is started later in a turn: the rest of it is enough to see it listen, or to end it.
 */
const freshMs = 3_000;

export interface Turn {
  /**
   * Whether a server may still be started. Ask at the last moment, for the case of a suspension.
   */
  isFresh(): boolean;
  /** Ends the turn, so that another process may take the next one. */
  end(): void;
}

/**
 * A turn, or null when another process has it; then ask again in a few milliseconds. Throws what
 * node:fs throws.
 */
export function takeTurn(directory: string): Turn | null {
  const latest = latestTurn(directory);
  if (latest > 0 && !isOver(turnFile(directory, latest))) return null;
  const mine = latest + 1;
  const file = openExclusively(turnFile(directory, mine));
  if (file === null) return null;
  if (latestTurn(directory) !== mine) {
    // Other processes have taken and ended turns since the look, so this lower number was free
    // again.
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
      // Into the open file: after its time it may have been removed, and must not come back.
      writeSync(file, 'done\n');
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
