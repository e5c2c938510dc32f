// Worlds in which one assumption is broken: a checker must fire.

import { expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import type { Property } from './checkers.ts';
import { type HostileProfile, hostileNames, hostileProfiles } from './profiles.ts';
import { simulate } from './simulate.ts';
import { leaveWarningsToWorlds } from './warnings.ts';

/** Seeds with which a checker fires soon in a hostile world: played first. */
const known: Partial<Record<HostileProfile, number>> = {
  'drift-beyond-the-factor': 5,
  'failovers-untold': 8,
  'marks-denied': 4,
  'older-protocol-short-times': 2,
  'restarts-empty-and-clocks-apart': 2,
  'restarts-empty-without-grace': 18,
  'same-server-twice': 7,
  'slots-and-memory-lost': 5,
  'three-to-five-at-once': 19,
};

const seedsOf = (profile: HostileProfile) =>
  new Set([known[profile] ?? 1, ...Array.from({ length: 25 }, (_, index) => index + 1)]);

leaveWarningsToWorlds();

it.each(hostileNames)('one fires in %s', { timeout: generous(60_000) }, async (profile) => {
  const { fires }: { fires: readonly Property[] } = hostileProfiles[profile];
  const found = new Set<string>();
  const hasFired = () => fires.some((property) => found.has(property));
  for (const seed of seedsOf(profile)) {
    if (hasFired()) break;
    const { findings } = await simulate(profile, seed, { until: fires });
    for (const { property } of findings) found.add(property);
  }
  expect(hasFired()).toBe(true);
});
