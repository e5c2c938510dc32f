// One run of one world: a storm, then calm, then the end of all programs, then silence; and the
// findings of the witness. The profile, the seed and the code decide everything, so these are what
// a failure names.

import { livenessTtls, type Property } from './checkers.ts';
import { Contender, type Crowd } from './contender.ts';
import { ForeignClient } from './foreign-client.ts';
import { Freezer } from './freezer.ts';
import { hosts } from './hub.ts';
import { Machine } from './machine.ts';
import { Network } from './network.ts';
import type { Options } from './options.ts';
import { optionsFor, type Profile } from './profiles.ts';
import { Random } from './random.ts';
import { firstCount, isGrowing, Rosters } from './rosters.ts';
import { Shell } from './shell.ts';
import { SimRedis, silentMs } from './sim-redis.ts';
import { SimServer } from './sim-server.ts';
import { Stopper } from './stopper.ts';
import { realSystem, type System } from './system.ts';
import { type Running, Weather } from './weather.ts';
import { type Finding, Witness } from './witness.ts';
import { World } from './world.ts';

export interface Outcome {
  readonly profile: Profile;
  readonly seed: number;
  readonly options: Options;
  readonly findings: readonly Finding[];
  readonly marks: ReadonlyMap<string, number>;
  readonly eventCount: number;
  readonly acquisitionCount: number;
  readonly hash: string;
  readonly lines: readonly string[];
}

export interface Wishes {
  readonly system?: System;
  readonly changes?: Partial<Options>;
  readonly isLogKept?: boolean;
  /** The world ends at once when any of these is broken. */
  readonly until?: readonly Property[];
}

const prefix = 'lock:';
/** How far apart the times of day of two clients may be. */
const clientSpreadMs = 120_000;
/** How much more seldom runs start when the trouble is over, and when at the latest. */
const calmThink = { factor: 10, maxMs: 2_000 };
/** How late something may still be under way when everything has ended. */
const lateMs = 30_000;

/** When masters are up and vote again, and keys and positions of dead programs have expired. */
function wellSince(
  now: number,
  { downMs, startMs, restartGraceMs, ttlMs, protocol, deadChance, ...options }: Options,
): number {
  const isLate = options.tailChance > 0 || options.guardLateMs > 0 || deadChance > 0;
  // When a promotion is first seen depends on the programs, as does the next list of masters.
  const isOpen = options.failoverEveryMs !== null || options.rosterChange !== 'none';
  if (isLate || isOpen || protocol !== 'redlock') return Number.POSITIVE_INFINITY;
  return now + downMs.most + startMs + restartGraceMs + Math.max(ttlMs * 1.02, silentMs);
}

type ClockOf = ReturnType<typeof clocksOf>;

/** Gives each server and each machine a clock that is off, by so much at most. */
function clocksOf(world: World) {
  const random = world.random.stream('clocks');
  return (drift: number, spreadMs: number) => ({
    rate: 1 + random.between(-drift, drift),
    wallOffsetMs: random.between(-spreadMs / 2, spreadMs / 2),
  });
}

function serversOf(world: World, options: Options, clockOf: ClockOf, system: System): SimServer[] {
  const count = options.isListedTwice ? options.masterCount - 1 : options.masterCount;
  return Array.from({ length: count }, (_, index) => {
    const clock = clockOf(options.masterDrift, options.wallSpreadMs);
    const redis = new SimRedis(world, clock, prefix);
    const { isDurable, isListedTwice: hidesInfo } = options;
    if (isGrowing(options) && index >= firstCount) redis.mark = null;
    const { scriptNamed } = system;
    return new SimServer(world, `m${index + 1}`, redis, { isDurable, hidesInfo, scriptNamed });
  });
}

/** All that start programs, and all that freeze and stop them. */
function populate(
  crowd: Crowd,
  machines: readonly Machine[],
  machineOf: (name: string) => Machine,
): void {
  const { shellCount, freezerCount, stopperCount, foreignCount } = crowd.options;
  for (const machine of machines.slice(0, shellCount)) new Shell(machine, crowd);
  for (const machine of machines.slice(shellCount)) new Contender(machine, crowd);
  for (let number = 1; number <= freezerCount; number += 1)
    new Freezer(machineOf(`p${number}`), crowd);
  for (let number = 1; number <= stopperCount; number += 1)
    new Stopper(machineOf(`s${number}`), crowd);
  for (let number = 1; number <= foreignCount; number += 1) new ForeignClient(`f${number}`, crowd);
}

export async function simulate(
  profile: Profile,
  seed: number,
  wishes: Wishes = {},
): Promise<Outcome> {
  const { system = realSystem, changes = {}, isLogKept = false, until = [] } = wishes;
  hosts().clear();
  const world = new World(`${profile} ${seed}`, isLogKept);
  const options = {
    ...optionsFor(profile, new Random(`${profile} ${seed}`, 'options')),
    ...changes,
  };
  const clockOf = clocksOf(world);
  const network = new Network(world, options);
  const servers = serversOf(world, options, clockOf, system);
  const listed = options.isListedTwice ? [...servers, servers[0] as SimServer] : servers;
  const machineOf = (name: string) =>
    new Machine(world, name, clockOf(options.clientDrift, clientSpreadMs));
  const machines = Array.from({ length: options.contenderCount }, (_, index) =>
    machineOf(`c${index + 1}`),
  );
  const witness = new Witness(world, servers, prefix, options);
  const rosters = new Rosters(witness, machines, options);
  witness.rosters = rosters;
  const running = new Set<Running>();
  let isOpen = true;
  const isStormy = () => world.now < options.stormMs;
  const crowd = {
    system,
    options,
    network,
    servers: listed,
    witness,
    prefix,
    running,
    rosters,
    isOpen: () => isOpen,
    isStormy,
    // After the storm it is to be seen that all get their turn; new runs show little more.
    thinkMs: (one: Random) => {
      const thinkMs = one.around(options.thinkMs);
      return isStormy() ? thinkMs : Math.min(calmThink.factor * thinkMs, calmThink.maxMs);
    },
  };
  populate(crowd, machines, machineOf);
  const weather = new Weather(
    { world, network, servers, machines, witness, prefix, running },
    options,
  );

  /** Each yields when the next one begins. */
  function* stages(): Generator<number, void> {
    yield options.stormMs;
    weather.clearUp();
    witness.wellSince = Math.min(witness.wellSince, wellSince(world.now, options));
    const { downMs, startMs, foreignTtlMs } = options;
    const wellAt = world.now + downMs.most + startMs + foreignTtlMs;
    yield wellAt + options.calmMs;
    const healthyMs = livenessTtls * options.ttlMs + options.restartGraceMs + silentMs + 2_500;
    witness.tell({ kind: 'healthy-for', sinceAt: wellAt, ms: Math.min(healthyMs, options.calmMs) });
    isOpen = false;
    for (const program of running) program.signal('SIGTERM');
    yield world.now + lateMs;
    yield world.now + options.ttlMs * 1.1;
    witness.tell({ kind: 'quiet' });
  }
  const isBroken = () => until.some((property) => witness.broken.has(property));

  const onWarning = (warning: Error) => witness.tell({ kind: 'warned', warning: String(warning) });
  process.on('warning', onWarning);
  try {
    for (const end of stages()) {
      await world.run(end, isBroken);
      if (isBroken()) break;
    }
  } finally {
    process.off('warning', onWarning);
  }
  return {
    profile,
    seed,
    options,
    findings: witness.findings,
    marks: world.trace.marks,
    eventCount: world.eventCount,
    acquisitionCount: witness.holdings.size,
    hash: world.trace.hash,
    lines: world.trace.lines,
  };
}
