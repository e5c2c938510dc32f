// Whether the caller of this run is still there. A client of ssh or docker exec that has died
// leaves its remote command running; such a waiter would start its job later, unexpected.
// Node cannot ask poll(2) about a stream that it only writes, so the guard's program does.

import { type ChildProcess, spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/** The exit code of the program when stderr has been hung up: see guard.c. */
const hungUp = 10;

/** A file, a terminal and /dev/null are never hung up. */
function canHangUp(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    return false;
  }
}

/**
 * Calls `onGone` when the reader of stderr has gone. Returns the function that ends the watch.
 * `file`: the guard's executable.
 */
export function watchCaller(file: string, onGone: () => void): () => void {
  if (!canHangUp(2)) return () => {};
  let watch: ChildProcess;
  try {
    watch = spawn(file, ['--until-hung-up'], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  } catch {
    return () => {}; // No more processes: the guard looks once more before the start.
  }
  watch.on('error', () => {});
  watch.once('exit', (code) => code === hungUp && onGone());
  watch.unref();
  return () => void watch.kill('SIGKILL');
}
