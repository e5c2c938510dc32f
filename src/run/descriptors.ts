// Whether a run may open as many files as it needs, tried out before it asks for the lock: without
// them it could neither start the command nor load the code that releases. The limit alone says
// little, since files may be open already. So as many as needed are opened and closed again, in
// less than a tenth of a millisecond.

import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { RunError } from './errors.ts';

/** The connection for commands and the one for subscriptions. */
const perMaster = 2;
/** The pipes of a start of the command and of a second guard, and a file that is read meanwhile. */
const besides = 7;

/** @throws RunError where too few files may be opened */
export function checkDescriptors(masterCount: number): void {
  const opened: number[] = [];
  try {
    for (let count = 0; count < masterCount * perMaster + besides; count += 1)
      opened.push(openSync(devNull, 'r'));
  } catch (error) {
    if (!areTooFew(error)) throw error;
    throw new RunError(tooFew);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Whether an error says that too few files may be open, in this process or on the machine. */
export function areTooFew(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(String((error as NodeJS.ErrnoException | null)?.code));
}

export const tooFew = 'open files: too few are allowed (raise the limit: ulimit -n)';
