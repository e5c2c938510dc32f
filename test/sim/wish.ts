// The wish of one invocation: its resources, its form of lock, and whether it is preemptible; and
// which wishes may be granted side by side, for the checkers. That rule is written here a second
// time, because the code under test must not be its own judge.

import type { Claim, Preemptible, Sharing } from '../../src/lock/types.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';

export interface Wish {
  readonly resources: readonly string[];
  readonly form: Sharing['kind'];
  /** 1 without slots. */
  readonly slotCount: number;
  readonly preemptible: Preemptible;
}

/** Draws nothing for a world with one exclusive resource, so that its seeds stay the same. */
export function drawWish(options: Options, random: Random): Wish {
  const {
    resourceCount,
    nameCount,
    readerChance,
    slotCount,
    otherSlotsChance,
    supersedeChance,
    replaceChance,
  } = options;
  const one = `r${random.integer(1, resourceCount)}`;
  const wish: Wish = { resources: [one], form: 'exclusive', slotCount: 1, preemptible: 'never' };
  const isPlain =
    nameCount + slotCount === 2 && readerChance + supersedeChance + replaceChance === 0;
  if (isPlain) return wish;
  const preemptible = drawPreemptible(random, options);
  const isReader = random.chance(readerChance);
  if (slotCount > 1 && !isReader && !random.chance(otherSlotsChance / 2)) {
    return {
      ...wish,
      form: 'slots',
      slotCount: random.chance(otherSlotsChance) ? slotCount + 1 : slotCount,
      preemptible,
    };
  }
  const resources = new Set([one]);
  for (let count = random.integer(1, nameCount); count > 1; count -= 1)
    resources.add(`r${random.integer(1, resourceCount)}`);
  const shuffled = [...resources].sort(() => random.between(-1, 1));
  return { ...wish, resources: shuffled, form: isReader ? 'shared' : 'exclusive', preemptible };
}

function drawPreemptible(random: Random, options: Options): Preemptible {
  if (random.chance(options.replaceChance)) return 'replace';
  return random.chance(options.supersedeChance) ? 'supersede' : 'never';
}

type Held = Pick<Claim, 'resources' | 'sharing'>;

export function haveCommon(
  one: Pick<Claim, 'resources'>,
  other: Pick<Claim, 'resources'>,
): boolean {
  return one.resources.some((resource) => other.resources.includes(resource));
}

/** Whether one of the two has to wait for the other. */
export function areRivals(one: Held, other: Held): boolean {
  if (!haveCommon(one, other)) return false;
  const [a, b] = [one.sharing, other.sharing];
  if (a.kind === 'shared' && b.kind === 'shared') return false;
  if (a.kind === 'slots' && b.kind === 'slots')
    return a.slotCount !== b.slotCount || a.slot === b.slot;
  return true;
}

/** Whether two wishes can never both be granted, whatever slot is free. */
export function areOpposed(one: Wish, other: Wish): boolean {
  if (!haveCommon(one, other)) return false;
  if (one.form === 'shared' && other.form === 'shared') return false;
  return true;
}

/** Why it may not be held beside these, in words; null: it may. */
export function conflictOf<One extends Held>(
  holder: One,
  others: readonly One[],
  nameOf: (one: One) => string,
): string | null {
  const rival = others.find((other) => areRivals(holder, other));
  if (rival)
    return `${nameOf(rival)} (${formOf(rival)}) beside ${nameOf(holder)} (${formOf(holder)})`;
  const { sharing } = holder;
  if (sharing.kind !== 'slots') return null;
  const beside = others.filter((other) => haveCommon(holder, other));
  if (beside.length >= sharing.slotCount)
    return `${beside.length + 1} holders of ${sharing.slotCount} slots`;
  const isNoSlot = sharing.slot < 1 || sharing.slot > sharing.slotCount;
  return isNoSlot ? `${nameOf(holder)} has slot ${sharing.slot} of ${sharing.slotCount}` : null;
}

function formOf({ resources, sharing }: Held): string {
  const how =
    sharing.kind === 'slots' ? `slot ${sharing.slot} of ${sharing.slotCount}` : sharing.kind;
  return `${how} ${resources.join(' and ')}`;
}
