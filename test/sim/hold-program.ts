// `redlockctl hold --background` in a world: the process that was called, and the one that it leaves behind, which holds the lock for a
// shell. Between them are pipes, as in src/ctl/steps/background.ts. The surprise: the one behind gives the lock back unless it has heard that
// the token was told, and looks for the shell ever after.

import { parseValue } from '../../src/lock/value.ts';
import type { Surroundings } from './program.ts';
import { SimProcess } from './sim-process.ts';
import type { HoldRecord, Ticket } from './step-facts.ts';
import { StepProgram } from './step-program.ts';

/** How long the second one takes to start, and what is written to get through a pipe. */
const startMs = 40;
const pipeMs = 0.5;

interface HoldPlan {
  readonly resource: string;
  readonly waitMs: number;
  readonly diesSilently: boolean;
}

export class HoldProgram {
  /** Who was called; gone when the token has been told. */
  readonly front: SimProcess;
  /** Who holds it. */
  readonly holder: StepProgram;
  readonly #around: Surroundings;
  readonly #record: HoldRecord;
  readonly #waitMs: number;
  readonly #diesSilently: boolean;
  readonly #abandoned = new AbortController();
  #isTold = false;
  #isPrinted = false;
  #said: (isTold: boolean) => void = () => {};

  /** `diesSilently`: the front does, with the token in its hands. */
  constructor(around: Surroundings, owner: SimProcess, name: string, wanted: HoldPlan) {
    const { resource, waitMs, diesSilently } = wanted;
    const { machine } = owner;
    this.#around = around;
    this.#waitMs = waitMs;
    this.#diesSilently = diesSilently;
    this.front = new SimProcess(machine, `${name}:front`);
    this.holder = new StepProgram(around, machine, name, resource, Number.POSITIVE_INFINITY);
    this.#record = {
      name,
      owner,
      machine,
      value: null,
      askerGoneAt: null,
      stoppedMsBefore: 0,
      end: null,
    };
    this.front.onDeath(() => {
      this.#pipe(this.holder.process, () => this.#hear(false));
      if (!this.#isPrinted) this.#goes();
    });
    owner.onDeath(() => this.#goes());
  }

  /** Resolves with the ticket, or with null when there is none, or the front has died. */
  take(): Promise<Ticket | null> {
    return new Promise((resolve) => {
      this.front.onDeath(() => resolve(null));
      this.front.world.after(startMs, () => void this.#hold(resolve));
    });
  }

  async #hold(tell: (ticket: Ticket | null) => void): Promise<void> {
    const { system, options, witness } = this.#around;
    const { ttlMs, isFenced } = options;
    const record = this.#record;
    const { holder, front } = this;
    const [name = ''] = holder.record.wish.resources;
    holder.process.onDeath(() => {
      if (record.value !== null) witness.ended(record.value, null);
      this.#pipe(front, () => tell(null));
    });
    const kept = await holder.run(async (ways) => {
      const { redlock, close } = await ways.redlock();
      const ended = AbortSignal.any([holder.interrupted, this.#abandoned.signal]);
      const kept = await system.hold(
        { ...ways, redlock },
        { name, ttlMs, waitMs: this.#waitMs, isFenced },
        {
          isWanted: () => !record.owner.isDead,
          ended,
          recordOf: () => null,
          handOver: ({ claim }) => {
            record.value = claim.value;
            const ticket = {
              resource: name,
              token: parseValue(claim.value).token,
              value: claim.value,
            };
            witness.tickets.add(ticket);
            this.#pipe(front, () => this.#print(ticket, tell));
            return new Promise((resolve) => {
              this.#said = resolve;
              if (front.isDead) this.#hear(false);
            });
          },
        },
      );
      close();
      return kept;
    });
    record.end = kept.kind === 'kept' ? kept.end : 'not-acquired';
    witness.world.mark(`hold: ${record.end}`);
    witness.tell({ kind: 'hold-ended', hold: record });
    if (kept.kind === 'not-acquired') this.#pipe(front, () => tell(null));
  }

  /** Nobody is left who could give it back. */
  #goes(): void {
    if (this.#record.askerGoneAt !== null) return;
    this.#record.askerGoneAt = this.front.world.now;
    this.#record.stoppedMsBefore = this.front.machine.stoppedMs;
  }

  /** The front tells the token, then that it has, and ends. */
  #print(ticket: Ticket, tell: (ticket: Ticket) => void): void {
    if (this.#diesSilently) {
      this.front.world.mark('token never told');
      this.front.die();
      return;
    }
    tell(ticket);
    this.#isPrinted = true;
    this.#pipe(this.holder.process, () => this.#hear(true));
    this.front.world.after(pipeMs, () => this.front.deliver(() => this.front.die()));
  }

  #hear(isTold: boolean): void {
    if (!isTold && !this.#isTold) this.#abandoned.abort('abandoned');
    if (isTold) this.#isTold = true;
    this.#said(isTold);
  }

  #pipe(target: SimProcess, action: () => void): void {
    this.front.world.after(pipeMs, () => target.deliver(action));
  }
}
