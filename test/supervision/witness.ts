// An independent witness of who is alive: looks at the whole machine every few ms, for all jobs of a test file at once, and
// writes down for each when it last saw somebody, and when the masters let its key go. It shares no code with the sweep.
//
// *Invariant:* the keys are looked at before the processes and once more after them. A process that is seen alive between
// two looks at keys that a quorum of masters does not have has really outlived the lock, however slow this machine is. One
// that was started in between, under a lock that was acquired anew, is not accused.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestMaster } from '../servers/master.ts';

/** Between two looks. */
const pauseMs = 15;

export interface Sighting {
  readonly pid: number;
  readonly command: string;
}

interface Ownership {
  /** Whether the master had the key when it was last asked. */
  isHeld: boolean;
  /** When the key expires, or was seen to be gone; never later than it really was. */
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
  /** Seen alive after a quorum had let the key go. */
  readonly outlived: string[] = [];

  /** One of the `marks` is in the arguments, or in the environment, of everyone that belongs to the job. */
  constructor(marks: readonly string[], key: string, masters: readonly TestMaster[]) {
    this.#marks = marks;
    this.#key = key;
    this.#masters = masters;
    this.#standings = masters.map(() => ({ isHeld: false, freeAt: 0 }));
    watched.add(this);
    start();
  }

  /** Who of the job was alive at the last look. */
  get alive(): readonly Sighting[] {
    return this.#seen;
  }

  /** Resolves after a whole look that began later than this call. */
  async looks(): Promise<void> {
    for (const count = this.#lookCount; this.#lookCount < count + 2; ) await sleep(pauseMs);
  }

  /** Resolves when nobody has been seen for as long as `quietMs`. */
  async gone(withinMs: number, quietMs = 150): Promise<void> {
    const endAt = performance.now() + withinMs;
    for (;;) {
      if (this.#goneAt !== null && performance.now() - this.#goneAt > quietMs) return;
      if (performance.now() > endAt) {
        throw new Error(
          `alive after ${withinMs} ms: ${this.#seen.map(({ command }) => command).join('; ')}`,
        );
      }
      await sleep(pauseMs);
    }
  }

  /** When nobody was seen any more, on performance.now(); somebody must have been seen before. */
  get goneAt(): number {
    if (this.#aliveAt === null || this.#goneAt === null)
      throw new Error('nobody was seen, or not everybody is gone');
    return this.#goneAt;
  }

  /** When fewer than a quorum of the masters held the key, or will. */
  get freeAt(): number {
    const instants = this.#standings.map(({ freeAt }) => freeAt).sort((a, b) => a - b);
    const quorum = Math.floor(instants.length / 2) + 1;
    return instants[instants.length - quorum] ?? 0;
  }

  /** Resolves when the key has just been given another `ttlMs`, so that it is not about to be given more. */
  async extended(ttlMs: number): Promise<void> {
    while (this.freeAt - performance.now() < ttlMs - 400) await sleep(pauseMs);
  }

  /** From now on somebody else decides about the keys: what counts is when they would have expired. */
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

  /** Accuses what is alive after a quorum has let the key go. */
  async see(everyone: readonly Sighting[], lookedAt: number): Promise<void> {
    this.#seen = everyone.filter(({ command }) =>
      this.#marks.some((mark) => command.includes(mark)),
    );
    this.#lookCount += 1;
    // By a quorum: while it is being acquired one master has the key and the others had not when they were asked.
    if (this.freeAt > lookedAt) this.#hasBeenHeld = true;
    if (this.#seen.length === 0) {
      if (this.#aliveAt !== null) this.#goneAt ??= lookedAt;
      return;
    }
    this.#goneAt = null;
    this.#aliveAt = performance.now();
    if (!this.#hasBeenHeld || this.freeAt >= lookedAt || (await this.#isHeld())) return;
    this.outlived.push(...this.#seen.map(({ command }) => command));
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

/** From now on these answer nobody; nor are they asked. */
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
  const everyone = await processes();
  await Promise.all(witnesses.map((witness) => witness.see(everyone, lookedAt)));
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

const ours = /redlock-run\.js|\/redlock-run |^redlock-guard/;

/** Everyone that lives but for those `besides`, with the arguments and the test's mark in the environment as one text. */
export function allProcesses(besides = ours): Sighting[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      command: read(`${name}/cmdline`),
      environment: read(`${name}/environ`),
    }))
    .filter(({ command }) => command !== '' && !besides.test(command))
    .map(({ pid, command, environment }) => ({
      pid,
      command: `${command} ${tokenIn(environment)}`,
    }));
}

function tokenIn(environment: string): string {
  return /REDLOCK_TEST_RUN=\w+/.exec(environment)?.[0] ?? '';
}

function read(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, 'latin1').replaceAll('\0', ' ').trim();
  } catch {
    return ''; // It ended meanwhile, or is someone else's.
  }
}
