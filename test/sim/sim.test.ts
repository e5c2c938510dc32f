// A fixed set of fair worlds, in which no checker may fire. Their events are counted, because a
// checker without events proves nothing. More seeds: npm run sim. In hostile worlds one must fire:
// hostile.test.ts.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { unfairnessOf } from './fairness.ts';
import { checkout } from './mutant-build.ts';
import { draw, stories } from './pictures.ts';
import { fairNames, hostileNames, optionsFor, type Profile } from './profiles.ts';
import { Random } from './random.ts';
import { simulate } from './simulate.ts';
import { leaveWarningsToWorlds } from './warnings.ts';

/**
 * In these worlds each mark below is seen, and each mutant that the first world of its kind shows;
 * some of them are far shorter than that. `.ci/run` plays those with the seeds 2 to 5.
 */
const seeds: Partial<Record<Profile, readonly number[]>> = {
  'all-forms': [6],
  calm: [16],
  contention: [16],
  drift: [4],
  failovers: [5],
  'in-steps': [13, 18, 39],
  'last-moment': [10],
  'late-guards': [3],
  'long-pauses-guarded': [2, 350],
  lossy: [10],
  'many-contenders': [2], // The shortest by far.
  'older-protocol': [1, 3, 15],
  preemption: [3],
  'replaced-disks': [4],
  'restarts-empty': [2],
  'several-names': [12],
  'slow-masters': [10],
  'slow-starts': [1, 3],
  'stop-requests': [1, 5],
  'sudden-deaths': [8],
  'two-lists': [2],
};
const seedsOf = (profile: Profile) => seeds[profile] ?? [1];
const firstSeeds = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

leaveWarningsToWorlds();

const marks = new Map<string, number>();
/** Of each world. */
const hashes = new Map<string, string>();

describe('in a fair world no checker fires', () => {
  it.each(fairNames)('%s', { timeout: generous(60_000) }, async (profile) => {
    for (const seed of seedsOf(profile)) {
      const outcome = await simulate(profile, seed);
      hashes.set(`${profile} ${seed}`, outcome.hash);
      for (const [name, count] of outcome.marks) marks.set(name, (marks.get(name) ?? 0) + count);
      expect(
        outcome.findings.slice(0, 3),
        `npm run sim -- --profile ${profile} --seed ${seed} --log`,
      ).toEqual([]);
      expect(outcome.acquisitionCount).toBeGreaterThan(0);
    }
  });

  it.each([
    'acquired',
    'waiting',
    'no-quorum',
    'split vote',
    'partial grant undone',
    'late grant or repair',
    'fence-raised',
    'extended',
    'extension-failed',
    'extension in the last moment',
    'master-failing: timeout',
    'master-failing: connection',
    'master-failing: restarted',
    'master-recovered',
    'master-repaired',
    'release-unconfirmed',
    'one-way partition',
    'two-way partition',
    'connection: breakOff',
    'connection: loseAnswers',
    'connection: vanish',
    'connection: clog',
    'dead connection',
    'frozen master',
    'restarted master',
    'restarted master: loads',
    'restarted master: busy',
    'restarted master: full',
    'restarted master: without disk',
    'restarted master: denies marks',
    'failover',
    'failover, and a lock forgotten',
    'runs with two lists of masters',
    'next list of masters',
    'masters-differ',
    'paused process',
    'paused guard',
    'suspended',
    'acquired, and released at once',
    'sudden death',
    'death of a guard',
    'never-started',
    'jump of a clock noticed',
    'stopping: unreachable',
    'stopping: suspended',
    'stopping: guard-lost',
    'stopping: signal',
    'stopping: max-run',
    'stopping: replaced',
    'stopping: stopped',
    'stop: stopped',
    'stop: free',
    'freeze: frozen',
    'thaw: thawed',
    'superseded',
    'killed',
    'child killed by the guard',
    'leftovers',
    'step: extend held',
    'step: extend lost',
    'step: extend unknown',
    'step: check held',
    'step: check lost',
    'step: check unknown',
    'step: release released',
    'step: release lost',
    'step: release unknown',
    'hold: released',
    'hold: told',
    'hold: unwanted',
    'shell vanishes',
    'token never told',
    'other program acquires',
    'other program takes an expired time over',
    'other program moves a time that is not over',
  ])('and all of this has happened: %s', (mark) => {
    expect(marks.get(mark) ?? 0).toBeGreaterThan(0);
  });
});

describe('what is fair', () => {
  const options = (profile: Profile) =>
    firstSeeds(20).map((seed) => optionsFor(profile, new Random(seed)));

  it.each(fairNames)('%s is, whatever the seed', (profile) => {
    expect(options(profile).flatMap(unfairnessOf)).toEqual([]);
  });

  it.each(hostileNames)('%s breaks one assumption', (profile) => {
    for (const drawn of options(profile)) expect(unfairnessOf(drawn)).toHaveLength(1);
  });
});

describe('a seed', () => {
  it('is a whole world: the same events at the same times, with a log or without', async () => {
    const again = await simulate('storm', 1, { isLogKept: true });
    expect(again.hash).toBe(hashes.get('storm 1'));
    expect(again.lines.length).toBeGreaterThan(100);
  });

  it('is not another one', () => {
    expect(hashes.size).toBeGreaterThan(fairNames.length);
    expect(new Set(hashes.values()).size).toBe(hashes.size);
  });
});

describe('the pages', () => {
  const page = readFileSync(`${checkout()}/docs/algorithm.md`, 'utf8');

  it.each(hostileNames)('show how to see the breach of %s', (profile) => {
    expect(page).toContain(`npm run sim -- --profile ${profile} `);
  });

  it.each(Object.entries(stories))(
    'have a picture that can be drawn anew: %s',
    async (name, story) => {
      const picture = await draw(story);
      expect(page).toContain(`](${name}.svg)`);
      for (const colour of ['#2b6cb0', '#c05621'])
        expect(picture.split(colour).length).toBeGreaterThan(5);
    },
  );
});
