// The bytes of a file that a person has written: a configuration, a password, a certificate. It may
// be a pipe, as <(...) of a shell is, or a device that never ends, so reading stops at a limit.

import { closeSync, openSync, readSync } from 'node:fs';

/** In bytes: many times what anybody writes into a configuration. */
const mostBytes = 1024 * 1024;

/** What reading more than `mostBytes` is, with a code as errors of node:fs have. */
class TooLong extends Error {
  readonly code = 'ERR_TOO_LONG';
}

/** @throws as node:fs does; ERR_TOO_LONG where there is more than 1 MiB */
export function readTextFile(path: string): Buffer {
  return readDescriptor(openSync(path, 'r'));
}

/** The same for an open file, which is closed then. */
export function readDescriptor(descriptor: number): Buffer {
  try {
    const chunks: Buffer[] = [];
    let byteCount = 0;
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const count = readSync(descriptor, chunk);
      if (count === 0) return Buffer.concat(chunks);
      byteCount += count;
      if (byteCount > mostBytes) throw new TooLong();
      chunks.push(chunk.subarray(0, count));
    }
  } finally {
    closeSync(descriptor);
  }
}
