// One invocation of redlock-run: a process with the real lock, run and masters, put together as
// src/programs/job.ts does it. A process whose run has ended still exists until its sockets are
// closed, as in Node; only sudden death removes it.

import type { LockRequest } from '../../src/lock/acquire.ts';
import type { Listen } from '../../src/lock/people.ts';
import { defaultDriftFactor } from '../../src/lock/quorum.ts';
import type { Redlock } from '../../src/lock/redlock.ts';
import type { Claim, Lease, Sharing } from '../../src/lock/types.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import type { ReportChild, RunLock, TimeLeft } from '../../src/run/ports.ts';
import {
  type Cause,
  fold,
  nothingSeen,
  type RunEvent,
  type RunRecord,
  type Signal,
} from '../../src/run/record.ts';
import { maxTimerMs } from '../../src/system/clock.ts';
import { Endpoint } from './endpoint.ts';
import type { Machine } from './machine.ts';
import type { Network } from './network.ts';
import { observedRedlock } from './observed-redlock.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';
import { type ChildHabits, SimTree, type Tree } from './sim-child.ts';
import { guardOptionsIn, SimGuard } from './sim-guard.ts';
import { SimProcess } from './sim-process.ts';
import type { SimServer } from './sim-server.ts';
import type { System } from './system.ts';
import type { Wish } from './wish.ts';
import type { KnownProgram, Witness } from './witness.ts';

export interface ExecutionContext {
  readonly system: System;
  readonly options: Options;
  readonly network: Network;
  /** One for each entry in the list of masters. */
  readonly servers: readonly SimServer[];
  readonly witness: Witness;
  readonly prefix: string;
}

/** The options of one invocation, and how its command behaves. */
export interface Plan {
  readonly wish: Wish;
  readonly waitMs: number;
  readonly holdAtLeastMs: number;
  readonly maxRunMs: number | null;
  readonly habits: ChildHabits;
}

export class Program {
  readonly process: SimProcess;
  readonly known: KnownProgram;
  readonly events: RunEvent[] = [];
  /** null: not ended yet, or it has died. */
  record: RunRecord | null = null;
  #seen = nothingSeen;
  onEnd: () => void = () => {};
  /** Later runs find other masters than this one has. */
  areMastersReplaced = false;
  /** How often and why --on-lost was started. */
  readonly losses: string[] = [];
  readonly #around: ExecutionContext;
  readonly #plan: Plan;
  readonly #random: Random;
  #post: (signal: Signal, isFromTerminal: boolean) => void = () => {};
  #guard: SimGuard | null = null;
  /** It had the lock, and released it because it was too late to use it. */
  #wasReleased = false;
  /** It stops because a person has asked for it. */
  #wasAsked = false;

  constructor(
    around: ExecutionContext,
    machine: Machine,
    name: string,
    plan: Plan,
    random: Random,
  ) {
    this.#around = around;
    this.#plan = plan;
    this.#random = random;
    this.process = new SimProcess(machine, name);
    const endpoints = around.servers.map((server, index) => {
      return new Endpoint(around.network, this.process, server, index);
    });
    this.known = {
      name,
      machine,
      endpoints,
      values: [],
      waiterId: this.#waiterId(name),
      wish: plan.wish,
      startedAt: machine.world.now,
      allowedMs: this.#allowedMs(),
      stoppedMsBefore: machine.stoppedMs,
      keepMs: plan.holdAtLeastMs,
      endedAt: null,
      cause: null,
      wasKilled: false,
    };
    around.witness.programs.push(this.known);
    this.process.onDeath(() => this.#died());
    this.process.deliver(() => void this.#main().then(() => this.#end(), machine.world.crash));
  }

  signal(signal: Signal): void {
    this.process.world.after(0, () => this.process.deliver(() => this.#post(signal, false)));
  }

  /** Ctrl-C at the terminal, which reaches the command as well: this one does not mind. */
  interrupt(): void {
    this.process.world.after(0, () => this.process.deliver(() => this.#post('SIGINT', true)));
  }

  get guards(): readonly SimProcess[] {
    return this.#guard?.processes ?? [];
  }

  /**
   * By this machine's clock, when nothing stops it: waiting, working, stopping, and the rounds
   * between.
   */
  #allowedMs(): number {
    const { ttlMs, graceMs } = this.#around.options;
    const { waitMs, habits } = this.#plan;
    const roundMs = roundMsIn(this.#around.options);
    return waitMs + habits.workMs + (habits.leftoverMs ?? 0) + 2 * graceMs + 4 * roundMs + ttlMs;
  }

  #died(): void {
    for (const value of this.known.values) this.#around.witness.ended(value, null);
    this.known.wasKilled = true;
    this.#end();
  }

  #end(): void {
    if (this.#around.witness.programEnded(this.known)) this.onEnd();
  }

  async #main(): Promise<void> {
    const { system, options, witness, prefix } = this.#around;
    const { process } = this;
    const { machine, world } = process;
    const { masterTimeoutMs, graceMs, marginMs, restartGraceMs, protocol } = options;
    const noteJump = () => world.mark('jump of a clock noticed');
    const clock = system.createSystemClock(noteJump, machine, maxTimerMs.guarded);
    const registry = new system.ServerRegistry();
    const historyBytes = defaultHistoryBytes;
    const masterSettings = { prefix, restartGraceMs, historyBytes, protocol };
    const masters = this.known.endpoints.map(
      ({ address }) => new system.Server(address, masterSettings, registry, clock, 'lock'),
    );
    const { differingMasters, hasHistory } = options;
    const { name } = machine;
    const watch = new system.MastersWatch(masters, clock, name, differingMasters, hasHistory);
    const self = holderRecord(machine);
    const seen = () => this.#seen;
    const withHistory = system.historyOf(self, this.known.name, 75, clock, seen);
    const report = (event: RunEvent) => {
      this.#seen = fold(this.#seen, event);
      this.#note(event);
      watch.see(event, (told) => this.#note(told as RunEvent));
      if (event.kind === 'extended') witness.tell({ kind: 'lists-compared', program: this.known });
    };
    const listen: Listen = (...asked) => new system.HolderChannel(masters, ...asked);
    const driftFactor = defaultDriftFactor;
    const lockSettings = { masterTimeoutMs, reserveMs: options.reserveMs, driftFactor };
    const redlock = observedRedlock(system, witness, machine, masters, clock, lockSettings, report);
    const random = this.#random.next;
    const parts = { clock, random, report };
    const servers = watch.servers;
    const acquire = async (aborted: AbortSignal) => {
      const request = { ...parts, redlock, ...this.#request(), servers, aborted };
      const stopWatching = this.#watchReleases(redlock, aborted);
      const acquisition = await system.acquireLock(
        options.hasHistory ? this.#observed(withHistory(request)) : request,
      );
      stopWatching();
      return acquisition;
    };
    const { reserveMs, extendEveryMs } = options;
    const { holdAtLeastMs, maxRunMs } = this.#plan;
    const settings = {
      graceMs,
      marginMs,
      reserveMs,
      extendEveryMs,
      masterTimeoutMs,
      holdAtLeastMs,
      maxRunMs,
      holdOn: 'always',
      stopSignal: 'SIGTERM',
      keepsBackground: false,
      slotCount: null,
    } as const;
    const lock: RunLock = {
      held: redlock,
      acquire,
      areMastersReplaced: () => this.areMastersReplaced,
      listen: options.stopperCount > 0 ? listen : null,
      entryOf: ({ token }, record) =>
        options.hasHistory ? system.entryOf(token, self, record, 75) : null,
    };
    const run = new system.Run(settings, lock, {
      ...parts,
      seen,
      startChild: (lease, timeLeft, hear) => this.#startGuard(lease, timeLeft, hear),
      onLost: (_, { cause }) => {
        if (cause.kind === 'lost') this.losses.push(cause.reason);
      },
      suspendUs: () => process.pause(),
    });
    this.#post = (signal, isFromTerminal) => run.signal(signal, isFromTerminal);
    this.record = await run.start();
    const { cause } = this.record;
    this.known.cause = cause;
    this.#noteCause(cause);
    world.note(process.name, `ends: ${cause.kind}`);
    for (const master of masters) master.close();
  }

  #startGuard(lease: Lease, timeLeft: TimeLeft, hear: ReportChild): SimGuard {
    const { process } = this;
    const { options, witness } = this.#around;
    const startTree = (onEnd: () => void): Tree => {
      const holding = witness.holdings.get(lease.claim.value);
      const tree = new SimTree(process.machine, process.name, this.#plan.habits, onEnd);
      if (holding) witness.childStarted(holding, tree);
      return tree;
    };
    this.#guard = new SimGuard(process, guardOptionsIn(options), timeLeft, startTree, hear);
    return this.#guard;
  }

  #newClaim(): Claim {
    const { options, system } = this.#around;
    const { name, machine, values } = this.known;
    const record = { ...holderRecord(machine), since: '' };
    const { ttlMs, isFenced } = options;
    const { resources, preemptible } = this.#plan.wish;
    const wish = { resources, sharing: this.#sharing(), preemptible, ttlMs, isFenced };
    const claim = system.newClaim(wish, `${name}.${values.length + 1}`, record);
    values.push(claim.value);
    if (options.hasHistory && this.#neverWaits) this.#countsIfRefused(values.length === 1);
    return claim;
  }

  /** As in src/programs/job-lock.ts: a slot is drawn by chance. */
  #sharing(): Sharing {
    const { form, slotCount } = this.#plan.wish;
    return form === 'slots'
      ? { kind: form, slotCount, slot: this.#random.integer(1, slotCount) }
      : { kind: form };
  }

  #waiterId(name: string): string {
    const { system } = this.#around;
    const { form, preemptible } = this.#plan.wish;
    const isPlain = form === 'exclusive' && preemptible === 'never';
    return isPlain
      ? name
      : system.waiterIdOf({ sharing: this.#sharing(), preemptible }, name, `1@${name}`);
  }

  #request() {
    const { giveUpAfterMs, retryCount: count, masterTimeoutMs, reserveMs } = this.#around.options;
    const { waitMs } = this.#plan;
    const { waiterId } = this.known;
    const retries = count === null ? null : { count, delayMs: 0, jitterMs: masterTimeoutMs };
    return {
      newClaim: () => this.#newClaim(),
      waiterId,
      waitMs,
      giveUpAfterMs,
      retries,
      areServersKnown: false,
      reserveMs,
    };
  }

  /** Notes a lock that is acquired, and released because it is too late to use it. */
  #watchReleases(redlock: Redlock, aborted: AbortSignal): () => void {
    const { witness, options } = this.#around;
    const { release } = redlock;
    redlock.release = (...args) => {
      if (!aborted.aborted && witness.holdings.has(args[0].value)) {
        this.process.world.mark('acquired, and released at once');
        this.#wasReleased = true;
        this.known.allowedMs += roundMsIn(options); // It tries again.
      }
      return release(...args);
    };
    return () => {
      redlock.release = release;
    };
  }

  /** Whether each attempt counts as a run that does not wait. */
  get #neverWaits(): boolean {
    return this.#plan.waitMs === 0 || this.#around.options.retryCount !== null;
  }

  /** Tells the witness of an attempt that a master counts if it refuses it. */
  #countsIfRefused(isFirst: boolean): void {
    const { name: run, machine, values } = this.known;
    const attempted = { host: machine.name, run, isFirst };
    this.#around.witness.refusals.attempted(values.at(-1) ?? '', attempted);
  }

  /** A request that may use up its time in a wait, and ask once more without one. */
  #observed(request: LockRequest): LockRequest {
    let isFirst = true;
    return {
      ...request,
      newClaim: (isWaiting) => {
        const claim = request.newClaim(isWaiting);
        if (isWaiting) return claim;
        if (!this.#neverWaits && this.#wasReleased) this.#countsIfRefused(isFirst);
        isFirst = false;
        return claim;
      },
    };
  }

  #noteCause({ kind }: Cause): void {
    const { world } = this.process;
    if (kind === 'superseded') world.mark('superseded');
    if (kind === 'misconfigured' && this.#around.options.differingMasters === 'error')
      this.#around.witness.tell({ kind: 'lists-told', program: this.known, host: 'any host' });
  }

  #note(event: RunEvent): void {
    const { world, name } = this.process;
    const { kind, ...facts } = event;
    this.events.push(event);
    if (event.kind === 'stopping' && event.cause.kind === 'replaced') {
      this.#around.witness.tell({ kind: 'replaced', program: this.known, by: event.cause.by });
    }
    if (event.kind === 'masters-differ')
      this.#around.witness.tell({ kind: 'lists-told', program: this.known, host: event.host });
    const value = this.known.values.at(-1) ?? '';
    // A run that was asked and then loses its lock is recorded as lost.
    if (event.kind === 'stopping') this.#wasAsked = event.cause.kind === 'stopped';
    if (event.kind === 'stopping' && event.cause.kind === 'stopped') {
      this.#around.witness.tell({ kind: 'stopped', value });
    }
    if (event.kind === 'released' && this.#wasAsked)
      this.#around.witness.stops.released.push({ value, resources: this.known.wish.resources });
    world.mark(markOf(event));
    world.note(name, `${kind} ${JSON.stringify(facts)}`);
  }
}

/** How long a round over the masters takes at most, with the pauses around it. */
function roundMsIn({ masterTimeoutMs }: Options): number {
  return 2 * masterTimeoutMs + 2_100;
}

/** As in src/programs/job-lock.ts, without its time. */
function holderRecord({ name: host }: Machine) {
  return { host, pid: 1, user: 'sim', label: 'work' };
}

export function markOf(event: RunEvent): string {
  switch (event.kind) {
    case 'master-failing':
      return `${event.kind}: ${event.failed.cause}`;
    case 'stopping':
      return `stopping: ${event.cause.kind === 'lost' ? event.cause.reason : event.cause.kind}`;
    default:
      return event.kind;
  }
}
