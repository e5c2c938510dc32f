// A script that holds a lock by redlockctl hold, and acquires the same name again, waits for
// itself: the lock is released when the script ends. The wait is not refused, since another process
// may release the lock; it is told at once.

import { parseValue } from '../lock/value.ts';
import type { RunEvent } from '../run/ports.ts';
import { processEntry } from '../run/processes/process-table.ts';
import { whichOf } from '../text/lines.ts';
import type { Onlooker } from './onlookers.ts';

/** More than the shells and make programs around any run. */
const mostAncestors = 64;

export class OwnHold implements Onlooker {
  readonly #names: readonly string[];
  readonly #host: string;
  readonly #warn: (line: string) => void;
  #isTold = false;
  /** The last holder; it is told again at each poll. */
  #holder = '';

  /** `host`: ours. */
  constructor(names: readonly string[], host: string, warn: (line: string) => void) {
    this.#names = names;
    this.#host = host;
    this.#warn = warn;
  }

  see(event: RunEvent): void {
    if (event.kind !== 'waiting' || this.#isTold || event.holder === this.#holder) return;
    this.#holder = event.holder;
    const line = lineOf(this.#names, event.holder, this.#host);
    if (line !== null) this.#warn(line);
    this.#isTold = line !== null;
  }

  finished(): void {}
}

/** The line about a holder (`value`) that keeps the lock for an ancestor of ours; else null. */
function lineOf(names: readonly string[], value: string, ourHost: string): string | null {
  const { record } = parseValue(value);
  if (record?.forPid === undefined || record.host !== ourHost) return null;
  if (!isAncestor(record.forPid)) return null;
  const why = `redlockctl hold keeps it for pid ${record.forPid}, of which this is a part`;
  const advice = 'redlockctl release it, or do not hold it';
  return `${whichOf(names)}: ${why}: it waits for itself (${advice})`;
}

function isAncestor(pid: number): boolean {
  let at = process.ppid;
  for (let count = 0; at > 1 && count < mostAncestors; count += 1) {
    if (at === pid) return true;
    at = processEntry(at)?.parent ?? 0;
  }
  return false;
}
