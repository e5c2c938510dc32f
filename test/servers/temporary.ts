// Where tests put their files.

import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';

/**
 * The path of a unix socket has at most 107 bytes, and messages cut a path after 80. Tests put both
 * into folders of their own, with names.
 */
const longest = 40;

/** The folder of this machine for temporary files, or /tmp where that has a long path. */
export function temporaryFolder(): string {
  const own = realpathSync(tmpdir());
  return Buffer.byteLength(own) <= longest ? own : '/tmp';
}
