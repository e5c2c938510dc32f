// What stands under a key that several hold together: a mark that says how, and no holder's value. Pure. The surprise: the mark is the
// same on all masters and for all holders, and contains the number of slots; so whoever counts differently is kept out.

import type { Random, Sharing } from './ports.ts';

/** What the key holds beside the list of holders: `shared` or `slots 3`; '' for an exclusive one, whose key holds its value. */
export function markOf(sharing: Sharing): string {
  switch (sharing.kind) {
    case 'exclusive':
      return '';
    case 'shared':
      return 'shared';
    case 'slots':
      return `slots ${sharing.slotCount}`;
  }
}

/** As one of so many, on a slot that is drawn by chance: those who come together do not all begin with the same one. */
export function onSomeSlot(slotCount: number, random: Random): Sharing {
  return { kind: 'slots', slotCount, slot: 1 + Math.floor(random() * slotCount) };
}

/** Whether a key is held by several who stand in its list of holders. */
export function isMark(value: string): boolean {
  return /^(shared|slots \d+)$/.test(value);
}

/** What a holder is called in the list of holders: his slot (0: he needs none), a space, and his value. */
export function memberOf(sharing: Sharing, value: string): string {
  return `${sharing.kind === 'slots' ? sharing.slot : 0} ${value}`;
}

/** The reverse; null for what is no member. */
export function parseMember(member: string): { readonly slot: number; readonly value: string } | null {
  const match = /^(\d+) (.*)$/s.exec(member);
  return match ? { slot: Number(match[1]), value: match[2] ?? '' } : null;
}
