// What is stored on a master: the value of a key (`<token> <json note>`), the mark and the permits
// of a lock that several clients hold, and the ids of waiters. Other clients write there too, so
// parsing never fails, and its results are bounded.

import type { Random } from './ports.ts';
import { alone, type Claim, type Sharing } from './types.ts';

/** The holder record, for people. `since` is wall-clock time as ISO 8601, for reading only. */
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

/** The longest reason that a person gives. */
export const mostReasonChars = 200;

/** The longest text in a note. More does not help a reader, and every history would keep it. */
const mostNoteChars = 80;

/** What a claim asks for, beside its value: a lock held alone by default. */
export type Wish = Pick<Claim, 'resources' | 'ttlMs' | 'isFenced'> &
  Partial<Pick<Claim, 'sharing' | 'yields'>>;

/** A claim that does not wait in the queue. `token` must never have been used before. */
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

/** The known fields of a note, none too long. */
export function bounded({ host, pid, user, since, label }: HolderNote): HolderNote {
  return { host: cut(host), pid, user: cut(user), since: cut(since), label: cut(label) };
}

/** The first characters of a text; never half of a surrogate pair. */
export function cut(text: string): string {
  return cutTo(text, mostNoteChars);
}

/** The first characters of a reason that a person gives; never half of a surrogate pair. */
export function cutNote(text: string): string {
  return cutTo(text, mostReasonChars);
}

function cutTo(text: string, mostChars: number): string {
  if (text.length <= mostChars) return text;
  return [...text.slice(0, 2 * mostChars)].slice(0, mostChars).join('');
}

/**
 * The mark, which the key of a lock with several holders has as its value: `shared` or `slots 3`;
 * '' for an exclusive lock, whose key holds the value of its holder.
 */
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

/** A random first slot of so many: clients that come together do not all try the same one. */
export function onSomeSlot(slotCount: number, random: Random): Sharing {
  return { kind: 'slots', slotCount, slot: 1 + Math.floor(random() * slotCount) };
}

/** Whether the value of a key is a mark: its holders stand in the list of holders. */
export function isMark(value: string): boolean {
  return /^(shared|slots \d+)$/.test(value);
}

/** The entry in the list of holders: the slot (0: none is needed), a space, and the value. */
export function permitOf(sharing: Sharing, value: string): string {
  return `${sharing.kind === 'slots' ? sharing.slot : 0} ${value}`;
}

/** The reverse of permitOf; null for what is no permit. */
export function parsePermit(
  permit: string,
): { readonly slot: number; readonly value: string } | null {
  const match = /^(\d+) (.*)$/s.exec(permit);
  return match ? { slot: Number(match[1]), value: match[2] ?? '' } : null;
}

/**
 * What the scripts on the masters have to know of a waiter. shared: asks for a shared lock. newest:
 * yields its position to a newer waiter of that trait. replace: asks holders to yield the lock.
 */
export type Trait = 'shared' | 'newest' | 'replace';

export interface WaiterName {
  readonly traits: readonly Trait[];
  /** `<pid>@<host>`, for people; null: unknown. */
  readonly who: string | null;
}

const known: readonly string[] = ['shared', 'newest', 'replace'] satisfies Trait[];

/** `<traits>:<random>:<pid>@<host>`. `random` makes the id unique, and contains no colon. */
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

/** The id under which a holder is woken by a waiter that asks it to yield the lock. */
export function holderIdOf(token: string): string {
  return `holder:${token}`;
}

/** The id under which a holder daemon is woken when another process releases its lock by token. */
export function keeperIdOf(token: string): string {
  return `keeper:${token}`;
}

/** The id under which a holder receives the requests of people: see holder-request.ts. */
export function askedIdOf(token: string): string {
  return `asked:${token}`;
}
