// What stands on a master: the value of a key (`<token> <json note>`), the mark and the members of a
// lock that several hold, and the names of waiters in the queue. Other clients write there too, so
// parsing never fails, and what it finds is bounded.

import type { Random } from './ports.ts';
import { alone, type Claim, type Sharing } from './types.ts';

/** What a person wants to know of a holder. `since` is wall-clock time as ISO 8601, for reading only. */
export interface HolderNote {
  readonly host: string;
  readonly pid: number;
  readonly user: string;
  readonly since: string;
  /** The command's base name, never its arguments: those may hold secrets. */
  readonly label: string;
}

export interface Holder {
  readonly token: string;
  /** null: not a value of ours, so another Redlock library or a person wrote it. */
  readonly note: HolderNote | null;
}

/** Of each text of a note; more is no help to a person, and would be kept in every history. */
const mostNoteChars = 80;

/** What a claim asks for, beside its value: a lock held alone by default. */
export type Wish = Pick<Claim, 'resources' | 'ttlMs' | 'isFenced'> &
  Partial<Pick<Claim, 'sharing' | 'yields'>>;

/** A claim without a place in the queue. `token` must never have been used before. */
export function newClaim(wish: Wish, token: string, note: HolderNote): Claim {
  return { ...alone, ...wish, value: renderValue(token, note), waiter: null };
}

export function renderValue(token: string, note: HolderNote): string {
  return `${token} ${JSON.stringify(bounded(note))}`;
}

export function parseValue(value: string): Holder {
  const space = value.indexOf(' ');
  if (space < 0) return { token: value, note: null };
  try {
    const note: unknown = JSON.parse(value.slice(space + 1));
    return isNote(note)
      ? { token: value.slice(0, space), note: bounded(note) }
      : { token: value, note: null };
  } catch {
    return { token: value, note: null };
  }
}

export function isNote(note: unknown): note is HolderNote {
  if (typeof note !== 'object' || note === null) return false;
  const { host, pid, user, since, label } = note as Record<string, unknown>;
  return (
    Number.isSafeInteger(pid) &&
    [host, user, since, label].every((part) => typeof part === 'string')
  );
}

/** Its known fields, none too long. */
export function bounded({ host, pid, user, since, label }: HolderNote): HolderNote {
  return { host: cut(host), pid, user: cut(user), since: cut(since), label: cut(label) };
}

/** So many characters of it, and no half of one. */
export function cut(text: string): string {
  if (text.length <= mostNoteChars) return text;
  return [...text.slice(0, 2 * mostNoteChars)].slice(0, mostNoteChars).join('');
}

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
export function permitOf(sharing: Sharing, value: string): string {
  return `${sharing.kind === 'slots' ? sharing.slot : 0} ${value}`;
}

/** The reverse; null for what is no member. */
export function parsePermit(
  member: string,
): { readonly slot: number; readonly value: string } | null {
  const match = /^(\d+) (.*)$/s.exec(member);
  return match ? { slot: Number(match[1]), value: match[2] ?? '' } : null;
}

/** shared: may stand beside others who share. newest: gives his place to a newer one of that trait; replace: asks holders to give up. */
export type Trait = 'shared' | 'newest' | 'replace';

export interface WaiterName {
  readonly traits: readonly Trait[];
  /** `<pid>@<host>`, for people; null: it does not say. */
  readonly who: string | null;
}

const known: readonly string[] = ['shared', 'newest', 'replace'] satisfies Trait[];

/** `random` keeps waiters apart, and holds no colon. */
export function waiterIdOf(
  { sharing, yields }: Pick<Claim, 'sharing' | 'yields'>,
  random: string,
  who: string,
): string {
  const traits: Trait[] = [];
  if (sharing.kind === 'shared') traits.push('shared');
  if (yields !== 'never') traits.push('newest');
  if (yields === 'lock') traits.push('replace');
  return `${traits.join()}:${random}:${who}`;
}

export function parseWaiterId(id: string): WaiterName {
  const [traits = '', , ...who] = id.split(':');
  if (who.length === 0) return { traits: [], who: null };
  return {
    traits: traits.split(',').filter((trait): trait is Trait => known.includes(trait)),
    who: who.join(':'),
  };
}

/** What a holder listens for, to be told that somebody wants what he holds. */
export function holderIdOf(token: string): string {
  return `holder:${token}`;
}

/** What a holder listens for who holds it for somebody else, to be told that it has been given back by its token. */
export function keeperIdOf(token: string): string {
  return `keeper:${token}`;
}
