// A nested run: `redlock-run --reentrant` as the command of another run, put together as
// src/programs/job.ts does it. It acquires no lock, and queries the enclosing lock instead. For the
// checkers it is a holder of that lock with the same value and a validity of its own.

import type { Clock } from '../../src/lock/ports.ts';
import { usualDriftFactor } from '../../src/lock/quorum.ts';
import type { EnclosingLease, Lease } from '../../src/lock/types.ts';
import { usualHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import type { Server } from '../../src/redis/server.ts';
import type { GuardListener } from '../../src/run/guard-client.ts';
import { type ChildExit, nothingSeen, type RunEvent, type Signal } from '../../src/run/record.ts';
import { maxTimerMs } from '../../src/system/clock.ts';
import { Endpoint } from './endpoint.ts';
import { type OuterLockParts, observedEnclosingLock } from './observed-enclosing-lock.ts';
import { type ExecutionContext, markOf } from './program.ts';
import { type ChildHabits, SimTree } from './sim-child.ts';
import { guardOptionsIn, SimGuard } from './sim-guard.ts';
import { SimProcess } from './sim-process.ts';
import type { System } from './system.ts';
import type { Holding, KnownProgram } from './witness.ts';

export class NestedProgram {
  readonly process: SimProcess;
  readonly known: KnownProgram;
  /** The program that it has started. */
  tree: SimTree | null = null;
  /** How it ended; called once, also when it has died. */
  onExit: (exit: ChildExit) => void = () => {};
  /** A process of its command has ended. */
  onTreeEnd: () => void = () => {};
  /** Its belief in the enclosing lock. */
  readonly #beliefs: Holding[] = [];
  readonly #around: ExecutionContext;
  readonly #enclosing: Holding;
  readonly #habits: ChildHabits;
  #post: (signal: Signal) => void = () => {};
  #guard: SimGuard | null = null;

  constructor(around: ExecutionContext, enclosing: Holding, name: string, habits: ChildHabits) {
    const { machine } = enclosing;
    const { ttlMs, masterTimeoutMs, graceMs, giveUpAfterMs } = around.options;
    this.#around = around;
    this.#enclosing = enclosing;
    this.#habits = habits;
    this.process = new SimProcess(machine, name);
    const endpoints = around.servers.map(
      (server, index) => new Endpoint(around.network, this.process, server, index),
    );
    const { resources } = enclosing;
    this.known = {
      name,
      machine,
      endpoints,
      values: [],
      waiterId: name,
      wish: { resources, form: 'exclusive', slotCount: 1, preemptible: 'never' },
      within: enclosing,
      startedAt: machine.world.now,
      allowedMs:
        giveUpAfterMs +
        habits.workMs +
        (habits.leftoverMs ?? 0) +
        2 * graceMs +
        4 * masterTimeoutMs +
        ttlMs,
      stoppedMsBefore: machine.stoppedMs,
      keepMs: 0,
      endedAt: null,
      cause: null,
      wasKilled: false,
    };
    around.witness.programs.push(this.known);
    this.process.onDeath(() => this.#end({ kind: 'signaled', signal: 'SIGKILL' }));
    this.process.deliver(() => void this.#main().catch(machine.world.crash));
  }

  get guards(): readonly SimProcess[] {
    return this.#guard?.processes ?? [];
  }

  signal(signal: Signal): void {
    this.process.world.after(0, () => this.process.deliver(() => this.#post(signal)));
  }

  #end(exit: ChildExit): void {
    const { known } = this;
    if (known.endedAt !== null) return;
    known.endedAt = this.process.world.now;
    known.wasKilled = this.process.isDead;
    for (const belief of this.#beliefs) belief.isBelieved = false;
    this.#around.witness.tell({ kind: 'ended', program: known });
    this.onExit(exit);
  }

  async #main(): Promise<void> {
    const { system, options } = this.#around;
    const { process } = this;
    const { giveUpAfterMs } = options;
    const clock = system.createSystemClock(() => {}, process.machine, maxTimerMs.guarded);
    const observers = this.#observers(clock);
    const report = (event: RunEvent) => this.#note(event);
    const enclosingLock = this.#enclosingLock({ observers, clock, report });
    const runSettings = {
      ...options,
      holdAtLeastMs: 0,
      holdOn: 'always',
      maxRunMs: null,
      stopSignal: 'SIGTERM',
      keepsBackground: false,
      slotCount: null,
    };
    const random = process.world.random.stream(process.name).next;
    const run: InstanceType<System['Run']> = new system.Run(runSettings as never, {
      redlock: enclosingLock,
      clock,
      random,
      report,
      listen: null,
      acquire: (aborted) => enclosingLock.acquire({ waitMs: null, giveUpAfterMs, aborted }),
      startChild: (lease) => {
        this.#guard = this.#startGuard(lease, clock, {
          onStopping: () => run.stoppedByGuard(),
          onLost: () => run.post({ kind: 'lost', reason: 'guard-lost' }),
        });
        return this.#guard;
      },
      areMastersReplaced: () => false,
      onLost: () => {},
      userOf: () => null,
      suspendUs: () => process.pause(),
      lineOf: () => null,
      seen: () => nothingSeen,
    });
    this.#post = (signal) => run.signal(signal, false);
    const { cause } = await run.start();
    this.known.cause = cause;
    process.world.mark(`nested run ends: ${cause.kind}`);
    process.world.note(process.name, `ends: ${cause.kind}`);
    for (const observer of observers) observer.close();
    this.#end({ kind: 'exited', code: 0 });
  }

  #observers(clock: Clock): Server[] {
    const { system, options, prefix } = this.#around;
    const { restartGraceMs, protocol } = options;
    const registry = new system.ServerRegistry();
    const settings = {
      prefix,
      restartGraceMs,
      historyBytes: usualHistoryBytes,
      protocol,
      ownList: null,
    };
    const look = ({ address }: Endpoint) =>
      new system.Server(address, settings, registry, clock, 'look');
    return this.known.endpoints.map(look);
  }

  #enclosingLock(parts: Omit<OuterLockParts, 'settings'>) {
    const { system, options, witness } = this.#around;
    const { masterTimeoutMs, reserveMs } = options;
    const settings = { masterTimeoutMs, reserveMs, driftFactor: usualDriftFactor };
    const tell = (belief: Holding) => this.#beliefs.push(belief);
    return observedEnclosingLock(
      system,
      witness,
      this.#enclosing,
      this.#lease(),
      { ...parts, settings },
      tell,
    );
  }

  #startGuard(lease: Lease, clock: Clock, listener: GuardListener): SimGuard {
    const { process } = this;
    const { system, options, witness } = this.#around;
    const startTree = (onEnd: () => void) => {
      const tree = new SimTree(process.machine, process.name, this.#habits, () => {
        onEnd();
        this.onTreeEnd();
      });
      this.tree = tree;
      process.world.mark('nested command');
      const belief = this.#beliefs[0];
      if (belief) witness.childStarted(belief, tree);
      return tree;
    };
    const timeLeft = system.timeLeftOf(lease, options, clock);
    return new SimGuard(process, guardOptionsIn(options), timeLeft, startTree, listener);
  }

  /** What the environment tells of the enclosing run. */
  #lease(): EnclosingLease {
    const { lease, resources, value } = this.#enclosing;
    const names = this.process.world.random.stream(`${this.process.name} names`).chance(0.5)
      ? resources
      : resources.slice(0, 1);
    return {
      names,
      token: value.split(' ')[0] ?? '',
      fence: lease.fence,
      ttlMs: lease.claim.ttlMs,
    };
  }

  #note(event: RunEvent): void {
    const { kind, ...facts } = event;
    this.process.world.mark(`nested ${markOf(event)}`);
    this.process.world.note(this.process.name, `${kind} ${JSON.stringify(facts)}`);
  }
}
