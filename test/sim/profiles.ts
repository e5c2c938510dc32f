// The kinds of worlds: fair ones, in which every assumption of the lock holds and no checker may
// fire; and hostile ones, each of which breaks one assumption, so that a checker must fire. Safety
// may depend on no delay, no partition and no restart, so worlds full of those are fair.

import type { Property } from './checkers.ts';
import { olderHostileProfiles, olderProtocol } from './older-profiles.ts';
import { calmOptions, fairDrift, type Options, timingsOf } from './options.ts';
import type { Random } from './random.ts';

export type Disturb = (calm: Options, random: Random) => Partial<Options>;

const calmly: Disturb = () => ({});

const lossy: Disturb = (_, random) => ({
  resetEveryMs: random.between(50, 600),
  clogMs: 4_000,
  tailChance: 0.05,
  tailMs: random.between(20, 400),
});

const partitions: Disturb = ({ ttlMs }, random) => ({
  partitionEveryMs: random.between(150, 1_500),
  partitionMs: ttlMs * random.between(0.3, 2),
});

const slowMasters: Disturb = ({ ttlMs, masterTimeoutMs }, random) => ({
  freezeEveryMs: random.between(200, 1_500),
  freezeMs: ttlMs * random.between(0.2, 1.5),
  slowEveryMs: random.between(200, 1_500),
  slowMs: masterTimeoutMs * random.between(0.3, 2),
});

const restarts: Disturb = (_, random) => ({
  restartEveryMs: random.between(300, 2_000),
  memory: 'all',
  isDurable: true,
});

const forgetfulRestarts: Disturb = ({ ttlMs }, random) => ({
  restartEveryMs: random.between(400, 2_000),
  memory: 'none',
  masterCount: random.pick([3, 5]),
  restartGraceMs: ttlMs,
  // A server that is down for longer than the masters' clocks differ cannot count below an earlier
  // number.
  wallSpreadMs: 100,
});

/** Servers that fsync every change, some of which come back with another disk. */
const replacedDisks: Disturb = (calm, random) => ({
  ...forgetfulRestarts(calm, random),
  memory: 'some',
  isDurable: true,
});

/** The same, where a server that has restarted cannot do at once what it is asked. */
const slowStarts: Disturb = (calm, random) => ({
  ...replacedDisks(calm, random),
  restartEveryMs: random.between(150, 600),
  downMs: { least: 100, most: 300 },
  startMs: calm.ttlMs * random.between(0.05, 0.3),
  startTroubles: ['loads', 'busy', 'full', 'without disk'],
  masterCount: 3,
  contenderCount: random.integer(4, 8),
  waitMs: 4_000,
  workMs: calm.ttlMs * random.between(1, 3),
  thinkMs: 60,
  // Without marks, the uptime of a server tells that it has restarted.
  ...random.pick([{}, {}, { startTroubles: ['denies marks'], isDurable: false } as const]),
});

const pauses: Disturb = ({ marginMs }, random) => ({
  pauseEveryMs: random.between(50, 500),
  pauseMs: marginMs / 4,
  killChance: 0.05,
});

const failovers: Disturb = ({ ttlMs }, random) => ({
  failoverEveryMs: random.pick([150, 150, 600, 2_000]),
  lagMs: ttlMs * random.between(0.5, 2),
  downMs: { least: 20, most: 300 },
  workMs: ttlMs,
  masterCount: 3,
  replicatedCount: 3,
  restartGraceMs: ttlMs,
  thinkMs: 60,
});

const growing = {
  masterCount: 5,
  rosterChange: 'one-by-one',
  listSpreadMs: 2_000,
  differingMasters: 'warn',
  thinkMs: 60,
  stormMs: 12_000,
} as const;

const anyOf =
  (...some: Disturb[]): Disturb =>
  (calm, random) =>
    Object.assign({}, ...some.map((disturb) => (random.chance(0.6) ? disturb(calm, random) : {})));

const deaths: Disturb = () => ({ killChance: 0.15 });

const older = olderProtocol(anyOf(lossy, partitions, restarts, pauses, deaths));

/** The other forms of lock: in calm weather, where waiting is checked too, or in any. */
const inAnyWeather =
  (form: Disturb): Disturb =>
  (calm, random) => {
    const crowd = { contenderCount: random.integer(3, 8), thinkMs: 60, ...form(calm, random) };
    // The order of arrival is by the masters' clocks, which agree as well as NTP makes them.
    if (random.chance(0.35)) return { ...crowd, wallSpreadMs: 20 };
    const restart: Disturb = (...args) => random.pick([restarts, forgetfulRestarts])(...args);
    return { ...crowd, ...anyOf(lossy, partitions, slowMasters, restart, deaths)(calm, random) };
  };

export const fairProfiles = {
  calm: calmly,
  contention: (_, random) => ({
    contenderCount: random.integer(6, 14),
    thinkMs: 60,
    waitMs: 4_000,
    signalChance: 0.1,
  }),
  'sudden-deaths': (_, random) => ({
    contenderCount: random.integer(6, 14),
    thinkMs: 60,
    waitMs: 6_000,
    workMs: random.between(50, 500),
    killChance: 0.3,
  }),
  lossy,
  partitions: (calm, random) => ({ ...partitions(calm, random), hasHistory: false }),
  'slow-masters': slowMasters,
  'restarts-with-memory': restarts,
  'restarts-empty': forgetfulRestarts,
  'replaced-disks': replacedDisks,
  'slow-starts': slowStarts,
  drift: (_, random) => ({
    clientDrift: fairDrift,
    masterDrift: fairDrift,
    clientStepEveryMs: random.between(300, 2_000),
    thinkMs: 60,
  }),
  pauses,
  'long-pauses-guarded': ({ ttlMs }, random) => ({
    pauseEveryMs: random.between(200, 1_500),
    pauseMs: 2 * ttlMs,
    killChance: 0.1,
  }),
  'late-guards': (calm, random) => ({
    ...anyOf(partitions, slowMasters, deaths)(calm, random),
    ...random.pick([{}, { pauseEveryMs: random.between(200, 1_500), pauseMs: 2 * calm.ttlMs }]),
    ...timingsOf(1_000),
    guardLateMs: 1_000 * random.between(0.3, 1.5),
    thinkMs: 60,
  }),
  suspends: (_, random) => ({
    ...timingsOf(6_000),
    suspendEveryMs: random.between(300, 2_000),
    suspendMs: 500,
    workMs: 6_000,
    waitMs: 8_000,
    stormMs: 20_000,
  }),
  'even-masters': (calm, random) => ({
    masterCount: random.pick([2, 4, 6]),
    contenderCount: random.integer(2, 8),
    thinkMs: 60,
    ...anyOf(lossy, partitions, slowMasters)(calm, random),
  }),
  'one-master': (calm, random) => ({
    masterCount: 1,
    ...anyOf(lossy, partitions, slowMasters)(calm, random),
  }),
  'many-contenders': (_, random) => ({
    contenderCount: random.integer(60, 150),
    thinkMs: 60,
    waitMs: 5_000,
    stormMs: 1_500,
  }),
  'last-moment': ({ masterTimeoutMs, ttlMs }, random) => ({
    slowEveryMs: random.between(100, 500),
    slowMs: masterTimeoutMs * random.between(0.8, 1.2),
    partitionEveryMs: random.between(150, 600),
    partitionMs: ttlMs * random.between(0.2, 0.5),
    workMs: ttlMs * 3,
  }),
  'readers-and-writers': inAnyWeather((_, random) => ({ readerChance: random.between(0.3, 0.9) })),
  slots: inAnyWeather((_, random) => ({
    slotCount: random.integer(2, 4),
    otherSlotsChance: random.pick([0, 0, 0.1]),
    readerChance: random.pick([0, 0, 0.1]),
  })),
  'several-names': inAnyWeather((_, random) => ({
    resourceCount: random.integer(2, 4),
    nameCount: random.integer(2, 3),
    readerChance: random.pick([0, 0, 0.4]),
    workMs: random.between(20, 400),
  })),
  preemption: inAnyWeather(({ ttlMs }, random) => ({
    supersedeChance: random.pick([0, 0.5, 1]),
    replaceChance: random.pick([0, 0.5, 1]),
    resourceCount: 1,
    slotCount: random.pick([1, 1, 2]),
    readerChance: random.pick([0, 0, 0.3]),
    workMs: ttlMs * random.between(0.3, 3),
    thinkMs: 400,
  })),
  'all-forms': inAnyWeather((_, random) => ({
    resourceCount: random.integer(2, 3),
    nameCount: 2,
    readerChance: 0.3,
    slotCount: random.pick([1, 2, 3]),
    otherSlotsChance: 0.5,
    supersedeChance: 0.2,
    replaceChance: 0.2,
    isFenced: true,
  })),
  'in-steps': inAnyWeather((_, random) => ({
    shellCount: random.pick([2, 3]),
    vanishChance: random.pick([0, 0.3, 0.6]),
    waitMs: random.pick([500, 4_000]),
    resourceCount: random.pick([1, 1, 2]),
    readerChance: random.pick([0, 0, 0.3]),
    ...random.pick([{}, { pauseEveryMs: random.between(200, 1_500), pauseMs: 1_500 }]),
  })),
  frozen: (calm, random) => ({
    freezerCount: random.pick([1, 2, 3]),
    resourceCount: random.pick([1, 1, 2]),
    replaceChance: random.pick([0, 0, 0.3]),
    workMs: calm.ttlMs * random.between(0.1, 1),
    ...anyOf(lossy, partitions, slowMasters, pauses)(calm, random),
  }),
  'stop-requests': (calm, random) => ({
    stopperCount: random.pick([1, 1, 2, 3]),
    resourceCount: random.pick([1, 1, 2]),
    ...random.pick([{}, {}, { readerChance: 0.6 }, { slotCount: 2 }]),
    contenderCount: random.integer(2, 6),
    workMs: calm.ttlMs * random.between(1, 4),
    waitMs: 4_000,
    thinkMs: 60,
    ...random.pick([{}, anyOf(lossy, partitions, slowMasters, pauses, deaths)(calm, random)]),
  }),
  'refused-at-once': inAnyWeather(({ ttlMs }, random) => ({
    waitMs: 0,
    retryCount: random.pick([null, null, 3]),
    resourceCount: random.pick([1, 1, 2]),
    nameCount: random.pick([1, 1, 2]),
    readerChance: random.pick([0, 0, 0.5]),
    slotCount: random.pick([1, 1, 2]),
    workMs: ttlMs * random.between(0.05, 1),
  })),
  'dead-connections': (_, random) => ({
    deadChance: random.pick([0.05, 0.3, 1]),
    contenderCount: random.integer(2, 8),
    readerChance: random.pick([0, 0, 0.5]),
    waitMs: random.pick([0, 500, 4_000]),
    workMs: random.between(20, 2_000),
    thinkMs: 60,
  }),
  failovers: (calm, random) => ({
    ...random.pick([calmly, anyOf(lossy, partitions, slowMasters, deaths)])(calm, random),
    ...failovers(calm, random),
    // Where all masters have replicas, no quorum of counters is kept.
    ...random.pick([{ replicatedCount: 1 }, { isFenced: false }, { isFenced: false }]),
  }),
  'three-to-five': (calm, random) => ({
    ...anyOf(lossy, partitions, slowMasters, pauses, deaths)(calm, random),
    ...growing,
    restartGraceMs: calm.ttlMs,
    differingMasters: random.pick(['warn', 'error']),
    contenderCount: random.integer(3, 8),
  }),
  'two-lists': (calm, random) => ({
    ...random.pick([
      calmly,
      anyOf(lossy, partitions, slowMasters, deaths),
      restarts,
      replacedDisks,
    ])(calm, random),
    masterCount: 5,
    rosterChange: 'two-lists',
    differingMasters: 'warn',
    restartGraceMs: calm.ttlMs,
    contenderCount: random.integer(3, 8),
    workMs: calm.ttlMs * random.between(0.5, 3),
    waitMs: 4_000,
    thinkMs: 60,
  }),
  'older-protocol': older,
  storm: (calm, random) => ({
    clientDrift: fairDrift,
    masterDrift: fairDrift,
    ...anyOf(
      lossy,
      partitions,
      slowMasters,
      random.pick([restarts, forgetfulRestarts]),
      pauses,
    )(calm, random),
  }),
} satisfies Record<string, Disturb>;

/** Each with the checkers of which one must fire. */
export const hostileProfiles = {
  'drift-beyond-the-factor': {
    fires: ['exclusion', 'honesty', 'childUnderLease'],
    disturb: ({ marginMs }) => ({
      clientDrift: 0.001,
      masterDrift: 0.08,
      partitionEveryMs: 300,
      partitionMs: 1_500,
      graceMs: 20,
      reserveMs: 20 + marginMs,
    }),
  },
  'master-clock-forward': {
    fires: ['exclusion', 'honesty'],
    disturb: () => ({ masterStepEveryMs: 400, thinkMs: 30 }),
  },
  'restarts-empty-without-grace': {
    fires: ['exclusion', 'oneChild'],
    disturb: () => ({
      restartEveryMs: 300,
      memory: 'none',
      masterCount: 3,
      restartGraceMs: 0,
      thinkMs: 60,
      wallSpreadMs: 100,
    }),
  },
  'restarts-empty-and-clocks-apart': {
    fires: ['fence'],
    disturb: (calm: Options, random: Random) => ({
      ...forgetfulRestarts(calm, random),
      wallSpreadMs: 600_000,
      restartEveryMs: 500,
      workMs: 50,
      waitMs: 4_000,
      isFenced: true,
    }),
  },
  'marks-denied': {
    fires: ['exclusion', 'oneChild'],
    disturb: (calm: Options, random: Random) => ({
      ...slowStarts(calm, random),
      startTroubles: ['denies marks'],
      isDurable: true,
    }),
  },
  'failovers-untold': {
    fires: ['exclusion', 'oneChild'],
    disturb: (calm: Options, random: Random) => ({
      ...failovers(calm, random),
      isPromotionTold: false,
      failoverEveryMs: 150,
      lagMs: 2 * calm.ttlMs,
      isFenced: false,
    }),
  },
  'three-to-five-at-once': {
    fires: ['exclusion', 'oneChild'],
    disturb: (calm: Options, random: Random) => ({
      ...partitions(calm, random),
      ...growing,
      rosterChange: 'at-once',
      listSpreadMs: growing.stormMs,
      contenderCount: 6,
    }),
  },
  eviction: {
    fires: ['exclusion', 'honesty'],
    disturb: () => ({ evictEveryMs: 60, thinkMs: 30 }),
  },
  'stopped-together': {
    fires: ['childUnderLease', 'oneChild'],
    disturb: ({ ttlMs }: Options) => ({
      pauseEveryMs: 200,
      pauseMs: 3 * ttlMs,
      arePausedTogether: true,
      workMs: 2 * ttlMs,
    }),
  },
  'long-suspends': {
    fires: ['childUnderLease', 'oneChild'],
    disturb: ({ ttlMs }: Options) => ({
      suspendEveryMs: 300,
      suspendMs: 3 * ttlMs,
      workMs: 2 * ttlMs,
    }),
  },
  'slots-and-memory-lost': {
    fires: ['exclusion', 'oneChild'],
    disturb: () => ({
      restartEveryMs: 300,
      memory: 'none',
      masterCount: 3,
      restartGraceMs: 0,
      contenderCount: 6,
      slotCount: 2,
      thinkMs: 60,
      wallSpreadMs: 100,
    }),
  },
  ...olderHostileProfiles(older),
  'same-server-twice': {
    fires: ['honesty'],
    disturb: () => ({ masterCount: 3, isListedTwice: true, thinkMs: 30 }),
  },
} satisfies Record<string, { fires: readonly Property[]; disturb: Disturb }>;

export type FairProfile = keyof typeof fairProfiles;
export type HostileProfile = keyof typeof hostileProfiles;
export type Profile = FairProfile | HostileProfile;

export const fairNames = Object.keys(fairProfiles) as FairProfile[];
export const hostileNames = Object.keys(hostileProfiles) as HostileProfile[];

export function isFair(profile: Profile): profile is FairProfile {
  return Object.hasOwn(fairProfiles, profile);
}

export function optionsFor(profile: Profile, random: Random): Options {
  const calm = calmOptions(random);
  const disturb: Disturb = isFair(profile)
    ? fairProfiles[profile]
    : hostileProfiles[profile].disturb;
  const options = { ...calm, ...disturb(calm, random) };
  const isWell = options.restartGraceMs > 0 ? options.restartGraceMs : 0;
  return { ...options, calmMs: 4 * options.ttlMs + isWell + 6_000 };
}
