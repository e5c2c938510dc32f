// What the commands themselves have written, and what the kernel shows of them. No code of the
// program takes part.
// *Invariant:* a command writes the time of its own clock before it writes the line, and the log is
// read before the processes. So a process is accused only of what is true: it was alive after a
// later section of its lock had begun.

import { closeSync, openSync, readSync } from 'node:fs';
import { allPids, canAct, wordsOf } from './processes.ts';

/** From the first to the last sign of one command: what one lease of one run has let in. */
export interface Section {
  /** Several names have commas between them. */
  readonly lock: string;
  /** s: shared; x: exclusive; otherwise the number of a slot. */
  readonly form: string;
  readonly token: string;
  readonly fence: number;
  readonly run: string;
  readonly shape: string;
  /** How often its command has begun. */
  begunCount: number;
  /** Seconds of CLOCK_MONOTONIC, like all times here. */
  readonly begunAt: number;
  /** The last sign of any of its processes. */
  lastAt: number;
  /** When its first process had done its work; null: it was ended before. */
  endedAt: number | null;
}

/** What a program has done to itself: see calls.c. */
export interface OwnFault {
  readonly at: number;
  readonly pid: number;
  readonly run: string;
  readonly what: string;
}

/** A process that was alive after a later section of its lock had begun. */
export interface Outlived {
  readonly section: Section;
  readonly later: Section;
  readonly pid: number;
}

/** Of a line that a command writes: see section.pl. */
const wordCount = 9;

export class Witness {
  readonly #log: string;
  readonly #file: number;
  #readTo = 0;
  #rest = '';
  /** By token, in the order in which they were written. */
  readonly sections = new Map<string, Section>();
  readonly outlived: Outlived[] = [];
  readonly ownFaults: OwnFault[] = [];
  readonly #accused = new Set<number>();

  constructor(log: string) {
    this.#log = log;
    this.#file = openSync(log, 'r');
  }

  close(): void {
    closeSync(this.#file);
  }

  sectionOf(run: string): Section | undefined {
    return [...this.sections.values()].find((section) => section.run === run);
  }

  /** Takes in what was written since. */
  read(): void {
    const chunk = Buffer.alloc(1 << 16);
    for (;;) {
      const size = readSync(this.#file, chunk, 0, chunk.length, this.#readTo);
      if (size === 0) return;
      this.#readTo += size;
      const lines = (this.#rest + chunk.toString('latin1', 0, size)).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#take(line);
    }
  }

  /** Looks at all processes once, and accuses those that should be gone. */
  look(): void {
    this.read();
    const known = [...this.sections.values()];
    const laters = new Map<Section, Section | undefined>();
    for (const { pid, section } of this.processes()) {
      if (!section || this.#accused.has(pid)) continue;
      if (!laters.has(section)) laters.set(section, known.find(isAfter(section)));
      const later = laters.get(section);
      if (!later || !canAct(pid)) continue;
      this.#accused.add(pid);
      this.outlived.push({ section, later, pid });
    }
  }

  /** The living processes of commands, and of which section each is; undefined: of none yet. */
  processes(): readonly { readonly pid: number; readonly section: Section | undefined }[] {
    return allPids().flatMap((pid) => {
      const words = wordsOf(pid);
      const at = words.indexOf(this.#log);
      // The words of redlock-run name the log as well, but no token.
      const isCommand = at > 0 && /^perl$|\/perl[\d.]*$/.test(words[0] ?? '');
      return isCommand ? [{ pid, section: this.sections.get(words[at + 5] ?? '') }] : [];
    });
  }

  #take(line: string): void {
    const [time, what = '', lock = '', token = '', fence, run = '', , ...more] = line.split(' ');
    const [shape = '', form = 'x'] = more;
    const at = Number(time);
    // A process that is killed for memory in the middle of a line leaves a part of it.
    if (what === 'fault' || !(at < now() + 1)) return;
    if (what === 'itself') {
      const [pid, ofRun = '', ...words] = line.split(' ').slice(2);
      this.ownFaults.push({ at, pid: Number(pid), run: ofRun, what: words.join(' ') });
      return;
    }
    if (line.split(' ').length !== wordCount) return;
    const section = this.sections.get(token);
    if (section === undefined) {
      const numbers = { fence: Number(fence), begunAt: at };
      const begun = {
        lock,
        form,
        token,
        run,
        shape,
        ...numbers,
        begunCount: what === 'begin' ? 1 : 0,
      };
      const started = { ...begun, lastAt: at, endedAt: what === 'end' ? at : null };
      this.sections.set(token, started);
      return;
    }
    section.lastAt = Math.max(section.lastAt, at);
    if (what === 'begin') section.begunCount += 1;
    if (what === 'end') section.endedAt = at;
  }
}

/** Whether two sections may not be at the same time. */
export function excludes(one: Section, other: Section): boolean {
  const names = other.lock.split(',');
  if (!one.lock.split(',').some((name) => names.includes(name))) return false;
  const isShared = one.form === 's' && other.form === 's';
  const slots = [one.form, other.form].map(Number);
  return !isShared && !(slots.every(Number.isInteger) && slots[0] !== slots[1]);
}

function isAfter(section: Section): (other: Section) => boolean {
  return (other) => other.begunAt > section.begunAt && excludes(section, other);
}

/** CLOCK_MONOTONIC in seconds, the clock of the commands. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e9;
}
