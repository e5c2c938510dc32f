// An independent witness: observes all processes of the machine every few ms, for all jobs of a
// test file at once, and records for each when a process of it was last seen, and when the masters
// lost its key. It shares no code with the sweep.
//
// *Invariant:* the keys are read before the processes and once more after them. A process that is
// seen alive between two reads, in both of which no quorum of masters has the key, has really
// outlived the lock, however slow this machine is. A process that was started in between, under a
// lock acquired anew, is not accused.

import { setTimeout as sleep } from 'node:timers/promises';
import type { TestMaster } from '../servers/master.ts';
import { generous } from '../servers/patience.ts';
import { allPids, procText } from '../servers/proc.ts';

/** The time between two looks. */
const pauseMs = 15;

export interface Sighting {
  readonly pid: number;
  readonly command: string;
}

interface Ownership {
  /** Whether the master had the key when it was last asked. */
  isHeld: boolean;
  /** When the key expires, or was seen to be missing; never later than in truth. */
  freeAt: number;
}

export class Witness {
  readonly #marks: readonly string[];
  readonly #key: string;
  readonly #masters: readonly TestMaster[];
  readonly #standings: Ownership[];
  #hasBeenHeld = false;
  #seen: Sighting[] = [];
  #lookCount = 0;
  #aliveAt: number | null = null;
  #goneAt: number | null = null;
  #isKeyTaken = false;
  /** Processes seen alive after a quorum had lost the key. */
  readonly outlived: string[] = [];

  /** One of the `marks` is in the arguments or the environment of every process of the job. */
  constructor(marks: readonly string[], key: string, masters: readonly TestMaster[]) {
    this.#marks = marks;
    this.#key = key;
    this.#masters = masters;
    this.#standings = masters.map(() => ({ isHeld: false, freeAt: 0 }));
    watched.add(this);
    start();
  }

  /** The processes of the job that were alive at the last look. */
  get alive(): readonly Sighting[] {
    return this.#seen;
  }

  /** Resolves after a whole look that began later than this call. */
  async looks(): Promise<void> {
    for (const count = this.#lookCount; this.#lookCount < count + 2; ) await sleep(pauseMs);
  }

  /** Resolves when no process has been seen for `quietMs`. Fails as eventually() does. */
  async gone(withinMs: number, quietMs = 150): Promise<void> {
    const limitMs = generous(withinMs);
    const endAt = performance.now() + limitMs;
    for (;;) {
      if (this.#goneAt !== null && performance.now() - this.#goneAt > quietMs) return;
      if (performance.now() > endAt) {
        throw new Error(
          `alive after ${limitMs} ms: ${this.#seen.map(({ command }) => command).join('; ')}`,
        );
      }
      await sleep(pauseMs);
    }
  }

  /** When the last process was seen, on performance.now(); a process must have been seen before. */
  get goneAt(): number {
    if (this.#aliveAt === null || this.#goneAt === null)
      throw new Error('no process was seen, or some are left');
    return this.#goneAt;
  }

  /** When fewer than a quorum of the masters held the key, or will. */
  get freeAt(): number {
    const instants = this.#standings.map(({ freeAt }) => freeAt).sort((a, b) => a - b);
    const quorum = Math.floor(instants.length / 2) + 1;
    return instants[instants.length - quorum] ?? 0;
  }

  /**
   * Resolves when the key has just been extended by `ttlMs`, so that the next extension is not
   * near.
   */
  async extended(ttlMs: number): Promise<void> {
    while (this.freeAt - performance.now() < ttlMs - 400) await sleep(pauseMs);
  }

  /**
   * From now on another client decides about the keys: what counts is when they would have expired.
   */
  keyIsTaken(): void {
    this.#isKeyTaken = true;
  }

  end(): void {
    watched.delete(this);
  }

  async askMasters(): Promise<void> {
    await Promise.all(
      this.#masters.map((master, index) => this.#ask(master, this.#standings[index] as Ownership)),
    );
  }

  /** Accuses the processes that are alive after a quorum has lost the key. */
  async see(all: readonly Sighting[], lookedAt: number): Promise<void> {
    this.#seen = all.filter(({ command }) => this.#marks.some((mark) => command.includes(mark)));
    this.#lookCount += 1;
    // By a quorum: while the lock is being acquired, one master has the key and the others have not
    // yet.
    if (this.freeAt > lookedAt) this.#hasBeenHeld = true;
    if (this.#seen.length === 0) {
      if (this.#aliveAt !== null) this.#goneAt ??= lookedAt;
      return;
    }
    this.#goneAt = null;
    this.#aliveAt = performance.now();
    if (!this.#hasBeenHeld || this.freeAt >= lookedAt || (await this.#isHeld())) return;
    const freeForMs = Math.round(lookedAt - this.freeAt);
    const lookMs = Math.round(performance.now() - lookedAt);
    const times = `key free for ${freeForMs} ms before a look of ${lookMs} ms`;
    const accused = this.#seen.map(({ pid, command }) => {
      return `${pid}: ${command} (${stateOf(pid)}; ${times})`;
    });
    this.outlived.push(...accused);
  }

  /** Whether a quorum has the key of this job now. */
  async #isHeld(): Promise<boolean> {
    if (this.#isKeyTaken) return false;
    const asked = this.#masters.filter((master) => master.isRunning && !frozen.has(master));
    const left = await Promise.all(asked.map((master) => master.command('pttl', this.#key)));
    return left.filter((remainingMs) => Number(remainingMs) > 0).length > this.#masters.length / 2;
  }

  async #ask(master: TestMaster, ownership: Ownership): Promise<void> {
    if (!master.isRunning || frozen.has(master) || this.#isKeyTaken) return;
    const askedAt = performance.now();
    const remainingMs = Number(await master.command('pttl', this.#key));
    if (this.#isKeyTaken) return;
    const isHeld = remainingMs > 0;
    if (isHeld) ownership.freeAt = askedAt + remainingMs;
    else if (ownership.isHeld) ownership.freeAt = Math.min(ownership.freeAt, askedAt);
    ownership.isHeld = isHeld;
  }
}

const watched = new Set<Witness>();
const frozen = new Set<TestMaster>();
let isLooking = false;

/** From now on these do not answer, and are not asked. */
export async function freeze(masters: readonly TestMaster[]): Promise<void> {
  for (const master of masters) frozen.add(master);
  await sleep(50); // What has been asked is answered first.
  await Promise.all(masters.map((master) => master.freeze()));
}

export function thaw(masters: readonly TestMaster[]): void {
  for (const master of masters) {
    master.thaw();
    frozen.delete(master);
  }
}

/** One look for all of these; `processes` is called between the two looks at the keys. */
export async function lookAt(
  witnesses: readonly Witness[],
  processes: () => Sighting[] | Promise<Sighting[]> = allProcesses,
): Promise<void> {
  const lookedAt = performance.now();
  await Promise.all(witnesses.map((witness) => witness.askMasters()));
  const all = await processes();
  await Promise.all(witnesses.map((witness) => witness.see(all, lookedAt)));
}

async function start(): Promise<void> {
  if (isLooking) return;
  isLooking = true;
  while (watched.size > 0) {
    const witnesses = [...watched];
    try {
      await lookAt(witnesses);
    } catch (error) {
      // The masters of a test that is over have been stopped.
      if (witnesses.every((witness) => watched.has(witness))) throw error;
    }
    await sleep(pauseMs);
  }
  isLooking = false;
}

/** In the masks of proc(5) a signal has the bit before its number. */
const sigkillPending = 1 << 8;

const ours = /redlock-run\.js|\/redlock-run |^redlock-guard/;

/** Those that were there before this file. None is of a job, until it has ended. */
const older = new Set(allPids());

/**
 * Every live process since this file began except `besides`, with its arguments and the test's mark
 * in its environment as one text. *Note:* a look that takes long sees less, and what it costs is
 * taken from the programs that are looked at. So it reads nothing of processes that cannot count.
 */
export function allProcesses(besides = ours): Sighting[] {
  const pids = allPids();
  const present = new Set(pids);
  // From now on another process may have the number.
  for (const pid of older) if (!present.has(pid)) older.delete(pid);
  return pids
    .filter((pid) => !older.has(pid))
    .map((pid) => ({ pid, command: read(pid, 'cmdline') }))
    .filter(({ command }) => command !== '' && !besides.test(command))
    .map(({ pid, command }) => ({ pid, command: `${command} ${tokenIn(read(pid, 'environ'))}` }));
}

/** For people: one that has been killed and is in state D waits for the kernel. */
function stateOf(pid: number): string {
  const status = procText(pid, 'status');
  const [, state = 'no longer there'] = /^State:\t(.*)$/m.exec(status) ?? [];
  const [, pending = '0'] = /^ShdPnd:\t(.*)$/m.exec(status) ?? [];
  const wasKilled = (Number.parseInt(pending.slice(-8), 16) & sigkillPending) > 0;
  return wasKilled ? `${state}, was killed` : state;
}

function tokenIn(environment: string): string {
  return /REDLOCK_TEST_RUN=\w+/.exec(environment)?.[0] ?? '';
}

function read(pid: number, file: string): string {
  return procText(pid, file).replaceAll('\0', ' ').trim();
}
