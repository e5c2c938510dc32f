// One invocation of redlockctl in a world: a process with its own connections that performs one
// step of src/ctl/steps/ and ends. A lock that it has acquired outlives it on purpose, so a
// reported lock is not litter.

import type { LockRequest } from '../../src/lock/acquire.ts';
import { heldTimings } from '../../src/lock/timings.ts';
import { alone, type Claim } from '../../src/lock/types.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import type { Server } from '../../src/redis/server.ts';
import type { Signal } from '../../src/run/record.ts';
import { maxTimerMs } from '../../src/system/clock.ts';
import { Endpoint } from './endpoint.ts';
import type { Machine } from './machine.ts';
import { observedRedlock } from './observed-redlock.ts';
import type { ExecutionContext } from './program.ts';
import { SimProcess } from './sim-process.ts';
import type { KnownProgram } from './witness.ts';

/** How long a step that acquires goes on when no quorum answers. */
export const giveUpAfterMs = 10_000;

export type Ways = ReturnType<StepProgram['open']>;

export class StepProgram {
  readonly process: SimProcess;
  readonly known: KnownProgram;
  onEnd: () => void = () => {};
  readonly #around: ExecutionContext;
  readonly #interrupted = new AbortController();
  #claimCount = 0;

  constructor(
    around: ExecutionContext,
    machine: Machine,
    name: string,
    resource: string,
    allowedMs: number,
  ) {
    this.#around = around;
    this.process = new SimProcess(machine, name);
    const endpoints = around.servers.map(
      (server, index) => new Endpoint(around.network, this.process, server, index),
    );
    this.known = {
      name,
      machine,
      endpoints,
      values: [],
      waiterId: `${name}.0`,
      wish: { resources: [resource], form: 'exclusive', slotCount: 1, preemptible: 'never' },
      startedAt: machine.world.now,
      allowedMs,
      stoppedMsBefore: machine.stoppedMs,
      keepMs: 0,
      endedAt: null,
      cause: null,
      wasKilled: false,
    };
    around.witness.programs.push(this.known);
    this.process.onDeath(() => this.#died());
  }

  get interrupted(): AbortSignal {
    return this.#interrupted.signal;
  }

  /** Resolves with its result, and never if it dies. */
  run<Result>(work: (ways: Ways) => Promise<Result>): Promise<Result> {
    const { world } = this.process;
    return new Promise((resolve) => {
      const main = async () => {
        const result = await work(this.open());
        this.#end();
        resolve(result);
      };
      world.after(0, () => this.process.deliver(() => void main().catch(world.crash)));
    });
  }

  signal(signal: Signal): void {
    this.process.world.after(0, () => this.process.deliver(() => this.#interrupted.abort(signal)));
  }

  /** The token was passed on, and the lock is released by another step. */
  handOver({ value }: Claim): void {
    this.known.values.splice(this.known.values.indexOf(value), 1);
    this.known.leavesPlace = true;
  }

  open() {
    const { system, options, witness, prefix } = this.#around;
    const { machine, world, name } = this.process;
    const { ttlMs, masterTimeoutMs, restartGraceMs, protocol } = options;
    const timings = heldTimings(ttlMs, masterTimeoutMs);
    const clock = system.createSystemClock(() => {}, machine, maxTimerMs.staying);
    const settings = {
      prefix,
      restartGraceMs,
      historyBytes: defaultHistoryBytes,
      protocol,
    };
    const addresses = this.known.endpoints.map(({ address }) => address);
    const random = world.random.stream(name).next;
    const servers = (use: 'lock' | 'look') => {
      const registry = new system.ServerRegistry();
      return addresses.map((one) => new system.Server(one, settings, registry, clock, use));
    };
    const redlockOn = (masters: readonly Server[]) => {
      return observedRedlock(system, witness, machine, masters, clock, timings, () => {});
    };
    const seen = servers('look');
    return {
      clock,
      query: new system.MasterQuery(seen, clock, masterTimeoutMs),
      redlock: redlockOn(seen),
      locking: () => {
        const masters = servers('lock');
        const redlock = redlockOn(masters);
        const close = async () => {
          await Promise.all(masters.map((master) => master.close()));
        };
        const request = (waitMs: number, aborted: AbortSignal): LockRequest => ({
          redlock,
          servers: masters,
          areServersKnown: false,
          clock,
          random,
          report: () => {},
          newClaim: () => this.#newClaim(),
          waiterId: this.known.waiterId,
          waitMs,
          giveUpAfterMs,
          reserveMs: 0,
          aborted,
        });
        return { request, close };
      },
    };
  }

  #newClaim(): Claim {
    const { system, options } = this.#around;
    const { ttlMs, isFenced } = options;
    const { name, machine, values, wish } = this.known;
    this.#claimCount += 1;
    const record = { host: machine.name, pid: 1, user: 'sim', since: '', label: 'step' };
    const { resources } = wish;
    const token = `${name}.${this.#claimCount}`;
    const claim = system.newClaim({ ...alone, resources, ttlMs, isFenced }, token, record);
    values.push(claim.value);
    return claim;
  }

  #died(): void {
    if (this.known.endedAt !== null) return;
    for (const value of this.known.values) this.#around.witness.ended(value, null);
    this.known.wasKilled = true;
    this.#end();
  }

  #end(): void {
    if (this.#around.witness.programEnded(this.known)) this.onEnd();
  }
}
