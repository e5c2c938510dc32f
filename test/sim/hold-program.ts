// `redlockctl hold --background` in a world: the process that was called and its daemon, which
// holds the lock for a shell, with pipes between them as in src/ctl/steps/hold.ts. The daemon
// releases the lock unless the token was printed, and later when the shell has ended.

import { heldTimings } from '../../src/lock/timings.ts';
import type { ExecutionContext } from './program.ts';
import { SimProcess } from './sim-process.ts';
import type { KnownHold, LockHandle } from './step-facts.ts';
import { StepProgram } from './step-program.ts';

/** How long the daemon takes to start, and a message takes through a pipe. */
const startMs = 40;
const pipeMs = 0.5;

interface HoldPlan {
  readonly resource: string;
  readonly waitMs: number;
  readonly diesSilently: boolean;
}

export class HoldProgram {
  /** The process that was called; it ends once the token is printed. */
  readonly front: SimProcess;
  /** The daemon, which holds the lock. */
  readonly holder: StepProgram;
  readonly #around: ExecutionContext;
  readonly #known: KnownHold;
  readonly #waitMs: number;
  readonly #diesSilently: boolean;
  readonly #abandoned = new AbortController();
  #isTold = false;
  #isPrinted = false;
  #said: (isTold: boolean) => void = () => {};

  /** `diesSilently`: the front process dies before it has printed the token. */
  constructor(around: ExecutionContext, owner: SimProcess, name: string, wanted: HoldPlan) {
    const { resource, waitMs, diesSilently } = wanted;
    const { machine } = owner;
    this.#around = around;
    this.#waitMs = waitMs;
    this.#diesSilently = diesSilently;
    this.front = new SimProcess(machine, `${name}:front`);
    this.holder = new StepProgram(around, machine, name, resource, Number.POSITIVE_INFINITY);
    this.#known = {
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

  /** Resolves with the ticket; null: there is none, or the front process has died. */
  acquireOnce(): Promise<LockHandle | null> {
    return new Promise((resolve) => {
      this.front.onDeath(() => resolve(null));
      this.front.world.after(startMs, () => void this.#hold(resolve));
    });
  }

  async #hold(tell: (handle: LockHandle | null) => void): Promise<void> {
    const { system, options, witness } = this.#around;
    const known = this.#known;
    const { holder, front } = this;
    const [name = ''] = holder.known.wish.resources;
    holder.process.onDeath(() => {
      if (known.value !== null) witness.ended(known.value, null);
      this.#pipe(front, () => tell(null));
    });
    const kept = await holder.run(async (ways) => {
      const { close, request } = ways.locking();
      const ended = AbortSignal.any([holder.interrupted, this.#abandoned.signal]);
      const kept = await system.hold({
        ...request(this.#waitMs, ended),
        timings: heldTimings(options.ttlMs, options.masterTimeoutMs),
        listen: null,
        isWanted: () => !known.owner.isDead,
        lineOfEnd: () => null,
        handOver: ({ claim }) => {
          known.value = claim.value;
          const handle = {
            resource: name,
            token: claim.token,
            value: claim.value,
          };
          witness.tickets.add(handle);
          this.#pipe(front, () => this.#print(handle, tell));
          return new Promise((resolve) => {
            this.#said = resolve;
            if (front.isDead) this.#hear(false);
          });
        },
      });
      close();
      return kept;
    });
    known.end = kept.kind === 'kept' ? kept.end : 'not-acquired';
    witness.world.mark(`hold: ${known.end}`);
    witness.tell({ kind: 'hold-ended', hold: known });
    if (kept.kind === 'not-acquired') this.#pipe(front, () => tell(null));
  }

  /** No process is left that could release the lock. */
  #goes(): void {
    if (this.#known.askerGoneAt !== null) return;
    this.#known.askerGoneAt = this.front.world.now;
    this.#known.stoppedMsBefore = this.front.machine.stoppedMs;
  }

  /** The front process prints the token, confirms that, and ends. */
  #print(handle: LockHandle, tell: (handle: LockHandle) => void): void {
    if (this.#diesSilently) {
      this.front.world.mark('token never told');
      this.front.die();
      return;
    }
    tell(handle);
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
