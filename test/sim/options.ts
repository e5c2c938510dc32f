// The options of one world, as one flat list of numbers. A profile says what may happen, and the
// seed draws the rest, including which of the usual troubles are absent ("swarm"), because troubles
// hide one another.

import { dangerOf, type RunTimings, runTimings } from '../../src/lock/timings.ts';
import type { Protocol } from '../../src/redis/keys.ts';
import type { Reaction } from '../../src/redis/masters-watch.ts';
import type { NetworkOptions } from './network.ts';
import type { Random } from './random.ts';
import type { RosterChange } from './rosters.ts';
import type { StartTrouble } from './start-troubles.ts';

/**
 * Mean times between troubles, in ms for the whole world (null: never), and their greatest
 * duration.
 */
export interface Weather {
  readonly partitionEveryMs: number | null;
  readonly partitionMs: number;
  readonly resetEveryMs: number | null;
  readonly clogMs: number;
  readonly freezeEveryMs: number | null;
  readonly freezeMs: number;
  readonly slowEveryMs: number | null;
  readonly slowMs: number;
  readonly restartEveryMs: number | null;
  /** What a server remembers after a restart; `some`: all of it or nothing. */
  readonly memory: 'all' | 'some' | 'none';
  readonly downMs: { readonly least: number; readonly most: number };
  /** One of these keeps a server that has restarted from working as usual for so long. */
  readonly startTroubles: readonly StartTrouble[];
  readonly startMs: number;
  readonly pauseEveryMs: number | null;
  readonly pauseMs: number;
  /** redlock-run and both its guards are stopped together; otherwise one of the three. */
  readonly arePausedTogether: boolean;
  readonly suspendEveryMs: number | null;
  readonly suspendMs: number;
  readonly clientStepEveryMs: number | null;
  readonly masterStepEveryMs: number | null;
  readonly evictEveryMs: number | null;
  /** One of so many masters fails, and a replica that lags answers at its address. */
  readonly failoverEveryMs: number | null;
  readonly replicatedCount: number;
  readonly lagMs: number;
  /** Whether the replica says what it was. */
  readonly isPromotionTold: boolean;
}

export interface Options extends RunTimings, NetworkOptions, Weather {
  readonly masterCount: number;
  /** From three masters to all of them, or different ones for good. */
  readonly rosterChange: RosterChange;
  /** How long it takes at most until every machine has a new list. */
  readonly listSpreadMs: number;
  readonly differingMasters: Reaction;
  readonly contenderCount: number;
  readonly resourceCount: number;
  /** How many resources a program may want at once. */
  readonly nameCount: number;
  /** How often a program shares its lock. */
  readonly readerChance: number;
  /** 1: no program wants slots. Some programs may count one more slot, or none. */
  readonly slotCount: number;
  readonly otherSlotsChance: number;
  /** How often a program is preemptible while it waits, and also while it holds the lock. */
  readonly supersedeChance: number;
  readonly replaceChance: number;
  /**
   * How many of the machines take locks in steps, and how often their shells vanish without a
   * release.
   */
  readonly shellCount: number;
  readonly vanishChance: number;
  /** People that freeze and thaw locks, each on a machine of its own. */
  readonly freezerCount: number;
  /** People that ask holders to stop, each on a machine of its own. Holders listen for them. */
  readonly stopperCount: number;
  readonly protocol: Protocol;
  /** Foreign programs that speak the older protocol, each on a machine of its own. */
  readonly foreignCount: number;
  /** How far their clocks are from the master's, at most. */
  readonly foreignSkewMs: number;
  /**
   * What they add to the time that they write, and how long before it they are done at the latest.
   */
  readonly foreignTtlMs: number;
  readonly foreignSlackMs: number;
  readonly restartGraceMs: number;
  /** By how much the start of a guard, and a message to or from it, may be late. */
  readonly guardLateMs: number;
  readonly isFenced: boolean;
  /** Whether runs leave lines in the history. */
  readonly hasHistory: boolean;
  readonly isDurable: boolean;
  readonly isListedTwice: boolean;
  readonly waitMs: number;
  /** How often a failed attempt is repeated, without the queue; null: until `waitMs` is over. */
  readonly retryCount: number | null;
  readonly giveUpAfterMs: number;
  /** Between the end of one run and the start of the next, on average, in the storm. */
  readonly thinkMs: number;
  readonly workMs: number;
  readonly stubbornChance: number;
  readonly leftoverChance: number;
  readonly holdAtLeastChance: number;
  /** How often the program gets a signal or dies suddenly in the course of a run. */
  readonly signalChance: number;
  readonly killChance: number;
  /** Clocks run at most so much too fast or too slow. */
  readonly clientDrift: number;
  readonly masterDrift: number;
  readonly wallSpreadMs: number;
  /** How long there may be trouble, and how long all is well after that. */
  readonly stormMs: number;
  readonly calmMs: number;
}

const stillness: Weather = {
  partitionEveryMs: null,
  partitionMs: 0,
  resetEveryMs: null,
  clogMs: 0,
  freezeEveryMs: null,
  freezeMs: 0,
  slowEveryMs: null,
  slowMs: 0,
  restartEveryMs: null,
  memory: 'all',
  downMs: { least: 300, most: 2_000 },
  startTroubles: [],
  startMs: 0,
  pauseEveryMs: null,
  pauseMs: 0,
  arePausedTogether: false,
  suspendEveryMs: null,
  suspendMs: 0,
  clientStepEveryMs: null,
  masterStepEveryMs: null,
  evictEveryMs: null,
  failoverEveryMs: null,
  replicatedCount: 0,
  lagMs: 0,
  isPromotionTold: true,
};

/**
 * Together with the 1% of driftMsOf, the rates of a slow holder and a fast master leave some
 * margin.
 */
export const fairDrift = 0.0045;

/** A calm world, which profiles disturb. */
export function calmOptions(random: Random): Options {
  const timings = timingsOf(random.pick([600, 1_000, 1_000, 2_000, 3_000]));
  return {
    ...timings,
    ...stillness,
    minMs: random.between(0.05, 2),
    jitterMs: random.between(0.05, 2),
    tailChance: 0,
    tailMs: 0,
    deadChance: 0,
    masterCount: random.pick([3, 3, 5, 5, 7]),
    rosterChange: 'none',
    listSpreadMs: 0,
    differingMasters: 'ignore',
    contenderCount: random.integer(2, 5),
    resourceCount: random.chance(0.2) ? 2 : 1,
    nameCount: 1,
    readerChance: 0,
    slotCount: 1,
    otherSlotsChance: 0,
    supersedeChance: 0,
    replaceChance: 0,
    shellCount: 0,
    vanishChance: 0,
    freezerCount: 0,
    stopperCount: 0,
    protocol: 'redlock',
    foreignCount: 0,
    foreignSkewMs: 0,
    foreignTtlMs: 0,
    foreignSlackMs: 0,
    restartGraceMs: 0,
    guardLateMs: 0,
    isFenced: random.chance(0.9),
    hasHistory: true,
    isDurable: false,
    isListedTwice: false,
    waitMs: random.pick([0, 500, 4_000, 4_000]),
    retryCount: null,
    giveUpAfterMs: 3_000,
    thinkMs: random.between(50, 300),
    workMs: timings.ttlMs * random.between(0.05, 1.5),
    stubbornChance: 0.1,
    leftoverChance: 0.05,
    holdAtLeastChance: 0.05,
    signalChance: 0.05,
    killChance: 0,
    clientDrift: 0.0005,
    masterDrift: 0.0005,
    wallSpreadMs: 5_000,
    stormMs: 6_000,
    calmMs: 0,
  };
}

export function timingsOf(ttlMs: number): RunTimings {
  const timings = runTimings(ttlMs, null, null);
  const danger = dangerOf(timings, true);
  if (danger !== null) throw new Error(danger);
  return timings;
}
