// Observes everything and changes nothing: which program holds which lease until when in true time,
// what is on which server, and which holder lost a key. It gives every fact to the checkers and
// collects their findings. The end of a lease follows the holder's own clock, so a holder with a
// slow clock believes longer.

import type { Clock } from '../../src/lock/ports.ts';
import type { Lease, Sharing } from '../../src/lock/types.ts';
import type { Cause } from '../../src/run/record.ts';
import { checkers, type Property } from './checkers.ts';
import type { Endpoint } from './endpoint.ts';
import { Ends } from './ends.ts';
import type { ForeignHolding } from './foreign-client.ts';
import { Freezes } from './freezes.ts';
import { ComparedLists, type ListFact } from './list-checkers.ts';
import type { Machine } from './machine.ts';
import type { Options } from './options.ts';
import { type RefusalFact, Refusals } from './refusals.ts';
import type { Rosters } from './rosters.ts';
import type { Tree } from './sim-child.ts';
import type { SimServer } from './sim-server.ts';
import type { StepFact } from './step-facts.ts';
import { type StopFact, Stops } from './stops.ts';
import { Tickets } from './tickets.ts';
import { isCalm } from './waiting-checkers.ts';
import { haveCommon, type Wish } from './wish.ts';
import type { World } from './world.ts';

export interface Holding {
  readonly value: string;
  readonly resources: readonly string[];
  readonly sharing: Sharing;
  readonly machine: Machine;
  readonly clock: Clock;
  lease: Lease;
  /** In true time, as all that follows. */
  readonly acquiredAt: number;
  validUntil: number;
  /** It is neither released nor known to be lost, and its process has not died. */
  isBelieved: boolean;
  /** When the round began that last confirmed the lease. */
  provenSince: number;
  tree: Tree | null;
}

/** What is known of one invocation of redlock-run. */
export interface KnownProgram {
  readonly name: string;
  readonly machine: Machine;
  readonly values: string[];
  /** Its name in the queues. */
  readonly waiterId: string;
  readonly wish: Wish;
  readonly endpoints: readonly Endpoint[];
  readonly startedAt: number;
  /** How long it may take when nothing stops its machine. */
  allowedMs: number;
  readonly stoppedMsBefore: number;
  /** In true time; null: it has not ended. */
  endedAt: number | null;
  /** Why it ended; null also for one that died. */
  cause: Cause | null;
  wasKilled: boolean;
  /**
   * It has passed a lock on and ended: if it was refused that, its position in the queue is dropped
   * after a while.
   */
  leavesPlace?: true;
  /** A key of its own may stand for so long after the end. */
  readonly keepMs: number;
}

export type Fact =
  | { readonly kind: 'acquired'; readonly holding: Holding }
  | { readonly kind: 'confirmed'; readonly holding: Holding }
  | { readonly kind: 'expired'; readonly holding: Holding }
  | { readonly kind: 'released'; readonly holding: Holding }
  | { readonly kind: 'child-running'; readonly holding: Holding }
  | {
      readonly kind: 'key-changed';
      readonly key: string;
      readonly server: SimServer;
      readonly before: string | null;
      readonly by: string | null;
    }
  | { readonly kind: 'foreign-acquired'; readonly holding: ForeignHolding }
  | { readonly kind: 'clock-stepped' }
  | { readonly kind: 'ended'; readonly program: KnownProgram }
  /** It releases what it holds for another process. */
  | { readonly kind: 'replaced'; readonly program: KnownProgram; readonly by: string }
  | { readonly kind: 'idle'; readonly program: KnownProgram; readonly endpoint: Endpoint }
  | { readonly kind: 'warned'; readonly warning: string }
  | { readonly kind: 'quiet' }
  | StepFact
  | StopFact
  | ListFact
  | RefusalFact
  | { readonly kind: 'healthy-for'; readonly sinceAt: number; readonly ms: number };

export interface Finding {
  readonly property: Property;
  readonly at: number;
  readonly text: string;
}

const properties = Object.keys(checkers) as Property[];

export class Witness {
  readonly world: World;
  readonly servers: readonly SimServer[];
  readonly prefix: string;
  /**
   * How many masters the programs count: the number of servers, unless one is listed twice. Where
   * lists grow, the most that any program counts.
   */
  readonly masterCount: number;
  readonly holdings = new Map<string, Holding>();
  readonly programs: KnownProgram[] = [];
  /** Of foreign programs, which are not checked. */
  readonly foreignHoldings: ForeignHolding[] = [];
  readonly findings: Finding[] = [];
  /** The properties of which there is a finding. */
  readonly broken = new Set<Property>();
  readonly tickets: Tickets;
  readonly ends: Ends;
  readonly freezes: Freezes;
  readonly stops: Stops;
  readonly refusals = new Refusals();
  readonly lists = new ComparedLists();
  /** Set before anything runs; null on a stage, where no list changes. */
  rosters: Rosters | null = null;
  /** When the first master granted it, by value. */
  readonly firstGrantAt = new Map<string, number>();
  /** Nothing but the contenders themselves gets in the way; in a deadly world some of them die. */
  readonly isCalm: boolean;
  readonly isDeadly: boolean;
  /** Nothing but operators gets in the way: no program of the older protocol moves a time. */
  readonly isUndisturbed: boolean;
  /** What a run asks of its masters it is told before its first extension. */
  readonly isAllTold: boolean;
  /**
   * No trouble is left for programs that started since then and wait in a queue: the older protocol
   * has none.
   */
  wellSince: number;
  /** Masters may come back without their memory. */
  readonly isForgetful: boolean;
  /** The masters' clocks agree, so the order of arrival by them is the true one. */
  readonly isPunctual: boolean;
  readonly ttlMs: number;
  readonly masterTimeoutMs: number;
  /** How long it takes to stop a command that does not obey. */
  readonly stopMs: number;

  readonly #hasRosters: boolean;
  readonly #live = new Set<Holding>();
  readonly #robberies: {
    readonly server: SimServer;
    readonly value: string;
    readonly at: number;
  }[] = [];

  constructor(world: World, servers: readonly SimServer[], prefix: string, options: Options) {
    this.world = world;
    this.masterCount = options.masterCount;
    this.#hasRosters = options.rosterChange !== 'none';
    this.freezes = new Freezes(world);
    this.stops = new Stops(servers);
    const { killChance, foreignCount } = options;
    this.isUndisturbed = isCalm(options) && killChance === 0 && foreignCount === 0;
    this.isAllTold = isCalm({ ...options, rosterChange: 'none' });
    this.isCalm = isCalm(options) && options.freezerCount + options.stopperCount === 0;
    this.isDeadly = options.killChance > 0;
    this.isForgetful =
      (options.restartEveryMs !== null && options.memory !== 'all') ||
      options.failoverEveryMs !== null;
    this.isPunctual = options.wallSpreadMs <= 100;
    const isWell = this.isCalm && !this.isDeadly && options.protocol === 'redlock';
    this.wellSince = isWell ? 0 : Number.POSITIVE_INFINITY;
    this.ttlMs = options.ttlMs;
    this.masterTimeoutMs = options.masterTimeoutMs;
    this.stopMs = options.graceMs + options.marginMs;
    this.servers = servers;
    this.prefix = prefix;
    this.tickets = new Tickets(world, servers, prefix, options.masterCount);
    this.ends = new Ends(world, servers, prefix, options.masterCount);
    for (const server of servers) {
      server.redis.onAcquire = (keys, value, isGranted) => {
        for (const fact of this.refusals.answered(server, keys, value, isGranted)) this.tell(fact);
      };
      server.redis.onChange = (key, before, after, by) => {
        if (by === null && before !== null && after !== before)
          this.#robberies.push({ server, value: before, at: world.now });
        if (by !== null && after === by && !this.firstGrantAt.has(by))
          this.firstGrantAt.set(by, world.now);
        if (after === null && by !== null && by === before && !this.holdings.has(by))
          world.mark('partial grant undone');
        if (before === null && by !== null && this.holdings.has(by))
          world.mark('late grant or repair');
        this.tickets.changed(before);
        this.tell({ kind: 'key-changed', key, server, before, by });
      };
    }
  }

  /** The holdings that are believed in, or whose command still runs. */
  live(): ReadonlySet<Holding> {
    for (const holding of this.#live) {
      const isValid = holding.isBelieved && holding.validUntil > this.world.now;
      if (!isValid && (holding.tree?.aliveCount ?? 0) === 0) this.#live.delete(holding);
    }
    return this.#live;
  }

  /**
   * Whether the server has lost the value by a fault, and by no script, since the round that last
   * confirmed the lease.
   */
  wasRobbed(server: SimServer, { value, provenSince }: Holding): boolean {
    return this.#robberies.some((robbery) => {
      return robbery.server === server && robbery.value === value && robbery.at >= provenSince;
    });
  }

  /** Whether any server has done so. */
  robbedSince(value: string, since: number): boolean {
    return this.#robberies.some((robbery) => robbery.value === value && robbery.at >= since);
  }

  tell(fact: Fact): void {
    for (const property of properties) {
      const text = checkers[property](fact, this);
      if (text === null) continue;
      this.findings.push({ property, at: this.world.now, text });
      this.broken.add(property);
      this.world.note('JUDGE', `${property}: ${text}`);
    }
  }

  acquired(machine: Machine, clock: Clock, lease: Lease): void {
    const holding = this.#believed(machine, clock, lease);
    this.holdings.set(holding.value, holding);
    this.#prove(holding, lease);
    this.tell({ kind: 'acquired', holding });
  }

  extended(lease: Lease): void {
    const holding = this.holdings.get(lease.claim.value);
    if (holding?.isBelieved) this.#prove(holding, lease);
  }

  /** Also of a connection that is only closed later. False: it had ended before. */
  programEnded(program: KnownProgram): boolean {
    if (program.endedAt !== null) return false;
    program.endedAt = this.world.now;
    this.tell({ kind: 'ended', program });
    for (const endpoint of program.endpoints) {
      const tell = () => this.tell({ kind: 'idle', program, endpoint });
      endpoint.onIdle = tell;
      if (endpoint.isIdle) tell();
    }
    return true;
  }

  /**
   * Released, lost or dead: its holder no longer believes in it. `leftMs`: for how long it is left
   * to expire; null: it was not released.
   */
  ended(value: string, leftMs: number | null): void {
    const holding = this.holdings.get(value);
    if (!holding?.isBelieved) return;
    holding.isBelieved = false;
    // A lock that was left to expire is free since then, also if that is discovered later.
    const hasExpired = this.tickets.has(value) && holding.validUntil <= this.world.now;
    if (!hasExpired) this.ends.add(holding, leftMs ?? this.ttlMs * 1.02);
    if (leftMs === null) return;
    this.tell({ kind: 'released', holding });
  }

  /** How many masters the holder counts. */
  masterCountOf({ value }: Holding): number {
    const count = this.#hasRosters ? this.programOf(value)?.endpoints.length : undefined;
    return count ?? this.masterCount;
  }

  programOf(value: string): KnownProgram | undefined {
    return this.programs.find(({ values }) => values.includes(value));
  }

  /** Whether a program has died suddenly since then. */
  hasDiedSince(instant: number): boolean {
    return this.programs.some(({ wasKilled, endedAt }) => wasKilled && (endedAt ?? 0) > instant);
  }

  /** How many programs have acquired any of these since then. */
  acquiredSince(at: number, claim: { readonly resources: readonly string[] }): number {
    return [...this.holdings.values()].filter(
      (one) => one.acquiredAt >= at && haveCommon(one, claim),
    ).length;
  }

  childStarted(holding: Holding, tree: Tree): void {
    holding.tree = tree;
    this.tell({ kind: 'child-running', holding });
  }

  /** A machine has woken up: its live processes run again. */
  woke(machine: Machine): void {
    for (const holding of this.live()) {
      if (holding.machine === machine && holding.tree?.isRunning)
        this.tell({ kind: 'child-running', holding });
    }
  }

  #believed(machine: Machine, clock: Clock, lease: Lease): Holding {
    const { value, resources, sharing } = lease.claim;
    return {
      value,
      resources,
      sharing,
      machine,
      clock,
      lease,
      acquiredAt: this.world.now,
      validUntil: 0,
      isBelieved: true,
      provenSince: 0,
      tree: null,
    };
  }

  #prove(holding: Holding, lease: Lease): void {
    holding.lease = lease;
    this.#live.add(holding);
    const now = holding.clock.now();
    const validUntil = this.world.now + (lease.validUntil - now) / holding.machine.rate;
    holding.provenSince = this.world.now - (now - lease.startedAt) / holding.machine.rate;
    holding.validUntil = validUntil;
    this.world.at(validUntil, () => {
      if (holding.validUntil !== validUntil) return;
      this.tell({ kind: 'expired', holding });
      // The process that was given it has not released it: it is left to expire.
      if (holding.isBelieved && this.tickets.has(holding.value))
        this.ends.add(holding, 0.02 * this.ttlMs, true);
    });
    this.tell({ kind: 'confirmed', holding });
  }
}
