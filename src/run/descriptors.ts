// Whether a run may open as many files as it needs, tried out before the lock is asked for. Found out later, with the lock ours, it
// could neither start the command nor load the code that releases. The surprise: a limit says little, as others have opened files
// for us; so as many as are needed are opened, and closed again, in less than a tenth of a millisecond.

import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { RunTrouble } from './trouble.ts';

/** A connection, and one on which a call is heard. */
const perMaster = 2;
/** The pipes of a start of the command beside those of a guard that has to be started again, and a file that is read meanwhile. */
const besides = 7;

/** @throws RunTrouble */
export function checkDescriptors(masterCount: number): void {
  const opened: number[] = [];
  try {
    for (let count = 0; count < masterCount * perMaster + besides; count += 1)
      opened.push(openSync(devNull, 'r'));
  } catch (error) {
    if (!areTooFew(error)) throw error;
    throw new RunTrouble(tooFew);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Of this process, or of the whole machine. */
export function areTooFew(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(String((error as NodeJS.ErrnoException | null)?.code));
}

export const tooFew = 'open files: too few are allowed (raise the limit: ulimit -n)';
