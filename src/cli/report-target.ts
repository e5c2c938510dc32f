// What is done with the file of --report, said for a path: asked before the run, when it can still be complained of, and again when
// the report is written. It changes nothing. The surprise: links are followed by hand, because those of /dev/stdout lead to an open
// file and not to a path; whoever renames over one takes the place of the device in /dev.

import { constants, lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

export interface ReportTarget {
  /** Where all links lead to; a descriptor is left as it is. */
  readonly path: string;
  /**
   * `replaced` in one step, by a new file; `overwritten` where a new file would be another one to somebody; `appended` to an open
   * file, a pipe, a device.
   */
  readonly kind: 'replaced' | 'overwritten' | 'appended' | 'directory';
  /** Permission bits of the file that is replaced; null: there is none. */
  readonly mode: number | null;
  readonly isPipe: boolean;
}

/** What is opened to write into it. */
export const openFlags = {
  overwritten: constants.O_WRONLY | constants.O_TRUNC,
  appended: constants.O_WRONLY | constants.O_APPEND,
} as const;

const descriptor = /^\/(proc\/[^/]+\/(task\/\d+\/)?fd|dev\/fd)\/\d+$/;
/** As many as the kernel follows. */
const mostLinks = 40;

/** @throws as node:fs does; ENOENT: its directory is not there */
export function reportTarget(file: string): ReportTarget {
  let path = file;
  for (let count = 0; count <= mostLinks; count += 1) {
    path = join(realpathSync(dirname(path)), basename(path));
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (descriptor.test(path)) return { path, kind: 'appended', mode: null, isPipe: false };
    if (!found?.isSymbolicLink()) return { path, ...treatmentOf(found) };
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
}

function treatmentOf(found: Stats | undefined): Omit<ReportTarget, 'path'> {
  if (!found) return { kind: 'replaced', mode: null, isPipe: false };
  if (found.isDirectory()) return { kind: 'directory', mode: null, isPipe: false };
  if (!found.isFile()) return { kind: 'appended', mode: null, isPipe: found.isFIFO() };
  const isOurs = found.uid === (process.geteuid?.() ?? found.uid) && found.gid === (process.getegid?.() ?? found.gid);
  const kind = isOurs && found.nlink === 1 ? 'replaced' : 'overwritten';
  return { kind, mode: found.mode & 0o7777, isPipe: false };
}
