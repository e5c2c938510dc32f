// Bytes that nobody can guess, for tokens and ids. The surprise: they come from the kernel's own file where there is one, which
// is where Node's crypto takes them from too, because loading that takes as long as asking three masters for a lock.

import { closeSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';

export function randomBytes(count: number): Buffer {
  return fromKernel(Buffer.alloc(count)) ?? crypto().randomBytes(count);
}

/** null where there is no such file, as on Windows or in a bare chroot. */
function fromKernel(bytes: Buffer): Buffer | null {
  try {
    const file = openSync('/dev/urandom', 'r');
    try {
      return readSync(file, bytes, 0, bytes.length, null) === bytes.length ? bytes : null;
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

function crypto(): typeof import('node:crypto') {
  return createRequire(import.meta.url)('node:crypto');
}
