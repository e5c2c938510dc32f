// A small world for stories told by hand: masters, machines and programs as in the big ones,
// without chance or storm. Time passes only in `pass`, so an action on the stage returns a promise
// to be checked later, and not to be awaited.

import type { Clock } from '../../src/lock/ports.ts';
import { defaultDriftFactor } from '../../src/lock/quorum.ts';
import type { Redlock } from '../../src/lock/redlock.ts';
import { alone, type Claim } from '../../src/lock/types.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import { maxTimerMs } from '../../src/system/clock.ts';
import { Endpoint } from './endpoint.ts';
import { hosts } from './hub.ts';
import { Machine } from './machine.ts';
import { Network } from './network.ts';
import { observedRedlock } from './observed-redlock.ts';
import { calmOptions, type Options, timingsOf } from './options.ts';
import { type Plan, Program } from './program.ts';
import { Random } from './random.ts';
import { SimProcess } from './sim-process.ts';
import { SimRedis } from './sim-redis.ts';
import { SimServer } from './sim-server.ts';
import type { SimSocket } from './sim-socket.ts';
import { realSystem as system } from './system.ts';
import type { Wish } from './wish.ts';
import { type Finding, Witness } from './witness.ts';
import { World } from './world.ts';

/** The value of a promise; undefined until it has come. */
export interface Pending<Value> {
  value: Value | undefined;
  at: number | undefined;
}

export interface Actor {
  readonly process: SimProcess;
  readonly clock: Clock;
  readonly redlock: Redlock;
  readonly random: Random;
  newClaim(): Claim;
}

export const prefix = 'lock:';
/** The wish of every program on a stage. */
export const resource = 'r';
export const key = prefix + resource;

export class Stage {
  readonly world: World;
  readonly options: Options;
  readonly network: Network;
  readonly servers: readonly SimServer[];
  readonly witness: Witness;

  constructor(changes: Partial<Options> = {}, seed = 1) {
    hosts().clear();
    this.world = new World(`stage ${seed}`);
    const calm = calmOptions(new Random(seed));
    const quiet = {
      minMs: 1,
      jitterMs: 0,
      masterCount: 3,
      resourceCount: 1,
      isFenced: true,
      restartGraceMs: 0,
    };
    this.options = { ...calm, ...timingsOf(1_000), ...quiet, ...changes };
    this.network = new Network(this.world, this.options);
    this.servers = Array.from({ length: this.options.masterCount }, (_, index) => {
      const redis = new SimRedis(this.world, { rate: 1, wallOffsetMs: 0 }, prefix);
      const { scriptNamed } = system;
      return new SimServer(this.world, `m${index + 1}`, redis, {
        isDurable: false,
        hidesInfo: false,
        scriptNamed,
      });
    });
    this.witness = new Witness(this.world, this.servers, prefix, this.options);
  }

  get findings(): readonly Finding[] {
    return this.witness.findings;
  }

  /** The values under the key, one for each master. */
  get values(): (string | null)[] {
    return this.servers.map(({ redis }) => redis.get(key));
  }

  /** The connections of a process to a master, in the order in which they were made. */
  socketsOf({ process }: Actor, index: number): SimSocket[] {
    return [...(hosts().get(`${process.name}/${index}`)?.sockets ?? [])];
  }

  server(index: number): SimServer {
    return this.servers[index] as SimServer;
  }

  machine(name: string): Machine {
    return new Machine(this.world, name, { rate: 1, wallOffsetMs: 0 });
  }

  /** One invocation of redlock-run, which works for an hour unless the plan says otherwise. */
  program(
    name: string,
    changes: Partial<Omit<Plan, 'habits'>> & { habits?: Partial<Plan['habits']> } = {},
  ): Program {
    const { options, network, servers, witness } = this;
    const around = { system, options, network, servers, witness, prefix };
    const calmHabits = {
      workMs: 3_600_000,
      exitCode: 0,
      obeysInMs: 5,
      diesInMs: 1,
      leftoverMs: null,
    };
    const wish: Wish = {
      resources: [resource],
      form: 'exclusive',
      slotCount: 1,
      preemptible: 'never',
    };
    const plan = { wish, waitMs: 0, holdAtLeastMs: 0, maxRunMs: null, ...changes };
    const habits = { ...calmHabits, ...changes.habits };
    return new Program(around, this.machine(name), name, { ...plan, habits }, new Random(name));
  }

  /** A process with the real lock and nothing around it, which does only what the test asks. */
  actor(name: string): Actor {
    const machine = this.machine(name);
    const process = new SimProcess(machine, name);
    const clock = system.createSystemClock(() => {}, machine, maxTimerMs.guarded);
    const registry = new system.ServerRegistry();
    const { masterTimeoutMs, graceMs, marginMs, restartGraceMs, protocol, ttlMs, isFenced } =
      this.options;
    const masters = this.servers.map((server, index) => {
      const { address } = new Endpoint(this.network, process, server, index);
      const historyBytes = defaultHistoryBytes;
      const masterSettings = { prefix, restartGraceMs, historyBytes, protocol };
      return new system.Server(address, masterSettings, registry, clock, 'lock');
    });
    const driftFactor = defaultDriftFactor;
    const settings = { masterTimeoutMs, reserveMs: graceMs + marginMs, driftFactor };
    const redlock = observedRedlock(
      system,
      this.witness,
      machine,
      masters,
      clock,
      settings,
      () => {},
    );
    let count = 0;
    const newClaim = () => {
      count += 1;
      return {
        ...alone,
        resources: [resource],
        token: `${name}.${count}`,
        value: `${name}.${count}`,
        ttlMs,
        isFenced,
        waiter: null,
      };
    };
    return { process, clock, redlock, random: new Random(name), newClaim };
  }

  /** Starts it, as an event in the actor's process. */
  start<Value>({ process }: Actor, action: () => Promise<Value>): Pending<Value> {
    const pending: Pending<Value> = { value: undefined, at: undefined };
    const settle = (value: Value) => Object.assign(pending, { value, at: this.world.now });
    this.world.after(0, () => process.deliver(() => void action().then(settle, this.world.crash)));
    return pending;
  }

  /** Waits for the lock as redlock-run does. */
  acquire(actor: Actor, waitMs: number, giveUpAfterMs = 60_000) {
    const { redlock, clock, random, newClaim, process } = actor;
    const request = {
      redlock,
      clock,
      random: random.next,
      report: () => {},
      newClaim,
      waiterId: process.name,
      waitMs,
      giveUpAfterMs,
      aborted: new AbortController().signal,
    };
    return this.start(actor, () => system.waitForLock(request));
  }

  pass(ms: number): Promise<void> {
    return this.world.run(this.world.now + ms);
  }
}
