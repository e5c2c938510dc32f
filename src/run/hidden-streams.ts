// Hides stdin, stdout and stderr from execa, which asks for them when it is loaded. Node then opens
// them, and makes a pipe non-blocking for every process that has it: for the command, and for what
// reads or writes beside redlock-run. To be imported before execa.
// *Note:* stdin stays hidden, because execa asks for it again at some starts; no program that
// imports this reads it.

import { PassThrough } from 'node:stream';

const output = (['stdout', 'stderr'] as const).map(
  (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
);
for (const name of ['stdin', 'stdout', 'stderr']) {
  const value = new PassThrough();
  Object.defineProperty(process, name, { configurable: true, enumerable: true, value });
}

/** To be called when execa is loaded. */
export function showOutput(): void {
  for (const [name, property] of output) {
    if (property !== undefined) Object.defineProperty(process, name, property);
  }
}
