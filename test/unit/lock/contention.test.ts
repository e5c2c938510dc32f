// What refused attempts come to, for votes that are hard to bring about on servers; the contract
// suite and the simulator have the others.

import { describe, expect, it } from 'vitest';
import { awaitsOthers, contentionOf } from '../../../src/lock/quorum.ts';
import { type AcquireReply, alone, type Refused } from '../../../src/lock/types.ts';

const plain = { ...alone, resources: ['x', 'y'] };

const refused = (supersededBy?: string): Refused => ({
  kind: 'refused',
  holder: '',
  remainingMs: 0,
  position: null,
  masterTimeUs: 1,
  ...(supersededBy ? { supersededBy } : {}),
});
const newerIn = (...names: (string | undefined)[]) =>
  contentionOf(names.map(refused), 3, plain).supersededBy;

describe('a newer waiter', () => {
  it('is believed when a quorum of masters tells of one, if not of the same', () => {
    expect(newerIn('b', 'b', 'c')).toBe('b');
    expect(['b', 'c']).toContain(newerIn('b', 'c', undefined));
  });

  it('is not believed on the word of a minority', () => {
    expect(newerIn('b', undefined, undefined)).toBeNull();
  });
});

describe('a free slot', () => {
  const onSlot1 = { kind: 'slots', slotCount: 3, slot: 1 } as const;
  const freeIn = (...answers: number[][]) =>
    contentionOf(
      answers.map((freeSlots) => ({
        ...refused(),
        holder: 'slots 3',
        ...(freeSlots[0] ? { freeSlots } : {}),
      })),
      3,
      { ...plain, sharing: onSlot1 },
    ).freeSlot;

  it.each<[answers: number[][], slot: number | null]>([
    [[[2], [2]], 2],
    [[[3], [2], [2]], 2],
    [[[77], []], null],
    [[[0], [-1]], null],
    [[[77, 2], [3], [3]], 3],
    [[[2, 2, 2], [3], [3]], 3],
    [[[1], [2]], 2],
    [[[1], []], null],
  ])('%j of which 1 was refused: %j', (answers, slot) => {
    expect(freeIn(...answers)).toBe(slot);
  });
});

/** A refusal by this holder, at this time of day in seconds. */
const by = (holder: string, seconds = 1_000): Refused => ({
  ...refused(),
  holder,
  masterTimeUs: seconds * 1e6,
});
const granted: AcquireReply = { kind: 'granted', fence: 1 };
const failed: AcquireReply = { kind: 'failed', cause: 'timeout', message: '' };

describe('the holder that is told', () => {
  it.each<[votes: AcquireReply[], holder: string, count: number]>([
    [[by('a'), by('a')], 'a', 1],
    [[by('b'), by('a'), by('a')], 'a', 1],
    [[by('b'), by(''), by('')], '', 1],
    [[by(''), by('a')], 'a', 1],
    [[by('b'), by('a'), granted], 'b', 2],
  ])('%j', (votes, holder, holderCount) => {
    expect(contentionOf(votes, 3, plain)).toMatchObject({ holder, holderCount });
  });
});

describe('which of several names is not free', () => {
  const at = (blockedIndex: number, holder = 'a'): Refused => ({ ...by(holder), blockedIndex });
  it.each<[votes: AcquireReply[], blockedName: string | undefined]>([
    [[by('a'), by('a')], undefined],
    [[at(1), at(1)], 'y'],
    [[at(0), at(1), at(1)], 'y'],
    [[at(0, 'b'), at(1, 'a'), at(1, 'a')], 'y'],
    [[at(0, ''), at(0, ''), at(1, 'a')], 'x'],
    [[at(1), granted, failed], 'y'],
  ])('%j', (votes, blockedName) => {
    expect(contentionOf(votes, 3, plain).blockedName).toBe(blockedName);
  });
});

describe('a refused round goes on', () => {
  it.each<[awaitsOthers: boolean, masterCount: number, votes: AcquireReply[]]>([
    [false, 1, [by('a')]],
    [false, 3, [by('a'), by('a')]],
    [false, 3, [by('a'), by('a'), by('b')]],
    [false, 3, [by('a', 1_000), by('a', 1_001)]],
    [false, 3, [by('a', 0), by('a', 1_000), by('a', 1_000)]],
    [false, 3, [by('a'), by('b'), granted]],
    [true, 3, [by('a'), by('b')]],
    [true, 3, [by('a'), by('')]],
    [true, 3, [by('a', 0), by('a', 1_000)]],
    [true, 3, [by('a', 1_000), by('a', 9_000)]],
    [true, 5, [by('a'), by('a'), by('b')]],
    [true, 5, [by('a', 0), by('a', 0), by('a', 1_000)]],
    [false, 5, [failed, by('a'), by('a'), by('a')]],
    [true, 5, [failed, by('b'), by('a'), by('a')]],
  ])('%j of %j: %j', (expected, masterCount, votes) => {
    expect(awaitsOthers(votes, masterCount, false)).toBe(expected);
  });

  it('for a waiter, unless the vote is split', () => {
    expect(awaitsOthers([by('a'), by('a')], 3, true)).toBe(true);
    expect(awaitsOthers([by('a'), by('a'), granted], 5, true)).toBe(false);
  });
});
