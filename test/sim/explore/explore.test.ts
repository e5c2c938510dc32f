// A part of `npm run explore` that is small enough for every run of the tests: one world as a
// whole, the beginning of the others, and some mutants.

import { describe, expect, it } from 'vitest';
import { generous } from '../../servers/patience.ts';
import type { Mutant } from '../mutant.ts';
import { realSystem } from '../system.ts';
import { explore } from './explorer.ts';
import { type Setting, settings } from './setting.ts';
import { loadSmallMutant, smallMutants } from './small-mutants.ts';
import { SmallWorld, type Step } from './small-world.ts';
import { compareTwins } from './twins.ts';
import { wander } from './wander.ts';

function named(name: string): Setting {
  const setting = settings.find((one) => one.name === name);
  if (setting === undefined) throw new Error(`no such world: ${name}`);
  return setting;
}

function mutantNamed(name: string): Mutant {
  const mutant = smallMutants.find((one) => one.name === name);
  if (mutant === undefined) throw new Error(`no such mutant: ${name}`);
  return mutant;
}

const alone = { ...named('contention'), clients: [{ acquires: 1, extends: 0 }] };

describe('every schedule of a small world', () => {
  it('is safe where one client acquires and releases', async () => {
    const { broken, isWhole, stateCount } = await explore(alone, realSystem);
    expect(broken).toBeNull();
    expect(isWhole).toBe(true);
    expect(stateCount).toBeGreaterThan(20);
  });

  it('is played up to so many steps, or to the end', { timeout: generous(60_000) }, async () => {
    const whole = await explore(alone, realSystem);
    const longest = whole.depth;
    const cut = await explore(alone, realSystem, { depth: longest - 1 });
    expect(cut).toMatchObject({ depth: longest - 1, isWhole: false, broken: null });
    expect(cut.stateCount).toBeLessThan(whole.stateCount);
    const few = await explore(alone, realSystem, { states: cut.stateCount });
    expect(few).toMatchObject({ depth: longest - 1, isWhole: false });
  });

  it('enters each state that a schedule of so many steps leads to', async () => {
    const states = new Set<string>();
    const playFrom = async (path: readonly Step[]) => {
      const world = new SmallWorld(alone, realSystem);
      for (const step of path) await world.take(step);
      states.add(world.state());
      if (path.length < 6) for (const step of world.steps()) await playFrom([...path, step]);
    };
    await playFrom([]);
    const { stateCount } = await explore(alone, realSystem, { depth: 6 });
    expect(stateCount).toBe(states.size);
  });

  it('finds a shortest schedule to a mistake', { timeout: generous(60_000) }, async () => {
    const system = await loadSmallMutant(mutantNamed('release-without-comparing'));
    const { broken, depth } = await explore(named('contention'), system);
    expect(broken?.finding.property).toBe('ownership');
    expect(broken?.schedule).toHaveLength(depth + 1);
  });

  it.each([
    ['nothing fails', {}],
    ['a connection breaks', { losses: 1 }],
    ['a master restarts', { crashes: 1, clients: [{ acquires: 2, extends: 0 }] }],
  ])('takes no states for one that behave differently: %s', async (_, more) => {
    const compared = await compareTwins({ ...alone, ...more }, realSystem, 100);
    expect(compared.differing).toBeNull();
    expect(compared.comparedCount).toBeGreaterThan(10);
  });

  it.each(settings)(
    'is safe at the beginning: $what',
    { timeout: generous(60_000) },
    async (setting) => {
      const { broken } = await explore(setting, realSystem, { states: 150 });
      expect(broken).toBeNull();
    },
  );
});

describe('a mistake breaks a property', () => {
  it.each([
    { mutant: 'quorum-one-lower', world: 'contention', property: 'honesty' },
    { mutant: 'release-without-comparing', world: 'contention', property: 'ownership' },
    { mutant: 'extend-without-comparing', world: 'extension', property: 'ownership' },
    { mutant: 'repair-without-proof', world: 'extension', property: 'revived' },
    { mutant: 'no-write-back', world: 'fence', property: 'fence' },
    { mutant: 'no-restart-grace', world: 'crash', property: 'fence' },
    { mutant: 'new-mark-counts', world: 'disk', property: 'fence' },
    { mutant: 'validity-from-after-the-requests', world: 'expiry', property: 'honesty' },
    { mutant: 'value-used-again', world: 'retries', property: 'released' },
  ])(
    '$mutant: $property',
    { timeout: generous(120_000) },
    async ({ mutant: name, world, property }) => {
      const system = await loadSmallMutant(mutantNamed(name));
      const caught = await wander(named(world), system, 500);
      expect(caught?.finding.property).toBe(property);
    },
  );
});
