// The worlds of the older protocol: one master that foreign programs use as well, and hostile
// worlds that each break one assumption of docs/protocols.md.

import { timingsOf } from './options.ts';
import type { Disturb } from './profiles.ts';

/**
 * A foreign program is done before its time where several of them, or the weather, get in its way.
 */
const slackMs = { one: 0, several: 3_000, inAnyWeather: 5_000 };

export function olderProtocol(weather: Disturb): Disturb {
  return (calm, random) => {
    const scene = random.pick(['one', 'several', 'inAnyWeather', 'inAnyWeather'] as const);
    const foreignSlackMs = slackMs[scene];
    return {
      ...(scene === 'inAnyWeather' ? weather(calm, random) : {}),
      protocol: random.pick(['setnx', 'setnx-ms']),
      masterCount: 1,
      isFenced: false,
      hasHistory: false,
      contenderCount: random.integer(2, 3),
      foreignCount: scene === 'one' ? random.integer(0, 1) : random.integer(2, 4),
      foreignSkewMs: 850,
      foreignTtlMs:
        calm.ttlMs + random.between(3_000, 6_000) + (scene === 'inAnyWeather' ? foreignSlackMs : 0),
      foreignSlackMs,
      waitMs: random.pick([0, 4_000, 12_000, 12_000]),
      thinkMs: random.between(100, 1_500),
      stormMs: 30_000,
    };
  };
}

/** Each with the checkers of which one must fire. */
export function olderHostileProfiles(fair: Disturb) {
  const disturbedBy =
    (breach: Disturb): Disturb =>
    (calm, random) => ({ ...fair(calm, random), thinkMs: 60, ...breach(calm, random) });
  return {
    'older-protocol-clocks-apart': {
      fires: ['foreign'],
      disturb: disturbedBy(({ ttlMs }) => ({
        foreignCount: 2,
        foreignSkewMs: 10_000,
        workMs: 2 * ttlMs,
      })),
    },
    'older-protocol-short-times': {
      fires: ['foreign'],
      disturb: disturbedBy(() => ({
        ...timingsOf(6_000),
        protocol: 'setnx-ms',
        foreignCount: 4,
        foreignTtlMs: 300,
        foreignSlackMs: 0,
        workMs: 6_000,
      })),
    },
    'older-protocol-and-memory-lost': {
      fires: ['exclusion', 'oneChild', 'foreign'],
      disturb: disturbedBy(({ ttlMs }) => ({
        restartEveryMs: 1_000,
        memory: 'none',
        wallSpreadMs: 100,
        workMs: ttlMs,
      })),
    },
  } as const;
}
