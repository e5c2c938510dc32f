// Starts the local masters that are missing, which is rare. The run that takes the turn looks again
// and starts them; the others wait and look. *Invariant:* the second look comes after taking the
// turn, and the turn must be fresh at the moment of the start: a server that is started on a socket
// takes it away from one that is present.

import { closeSync, fstatSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalError, makePrivateDirectory, NoServerProgram } from './directory.ts';
import { isListening, startServer } from './server.ts';
import { type Environment, findServerProgram, type ServerProgram } from './server-program.ts';

// The turn: one process at a time, by files in the private folder. A turn is a file `turn.<n>`,
// created exclusively; the highest number has the turn until `done` is written into it or
// lifetimeMs have passed. It is no lock for anything that takes longer. *Invariant:* no file of a
// process that may be alive is removed. A lock that is taken over by removing the file of a dead
// holder may remove the file of another process that took over a moment earlier. Here the next
// process creates the next number, which only one can. The highest file stays, so that the next
// number is known.

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

/** A little longer than a dead run can keep its turn. */
const patienceMs = lifetimeMs + 5_000;

/** Resolves when a server listens on each socket. Throws LocalError, after 15 s at the latest. */
export async function startMissing(
  directory: string,
  sockets: readonly string[],
  environment: Environment,
): Promise<void> {
  const program = await findServerProgram(environment);
  if (program === null) throw new NoServerProgram();
  makePrivateDirectory(directory);
  const endAt = performance.now() + patienceMs;
  while ((await missing(sockets)).length > 0) {
    const turn = takeTurn(directory);
    if (turn !== null) {
      try {
        const absent = await missing(sockets);
        if (turn.isFresh()) await startAll(program, absent);
      } finally {
        turn.end();
      }
    } else if (performance.now() > endAt) {
      throw new LocalError(
        69,
        directory,
        'another run did not finish starting the servers',
        'try again',
      );
    } else {
      await sleep(20 + 20 * Math.random());
    }
  }
}

/** Waits for the start or the failure of all, even if one fails: the turn is over then. */
async function startAll(program: ServerProgram, sockets: readonly string[]): Promise<void> {
  const outcomes = await Promise.allSettled(sockets.map((socket) => startServer(program, socket)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

async function missing(sockets: readonly string[]): Promise<string[]> {
  const listening = await Promise.all(sockets.map(isListening));
  return sockets.filter((_, index) => !listening[index]);
}
