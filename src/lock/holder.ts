// What the key holds: `<token> <json note>`. The token proves ownership; the note tells people what
// holds the lock. Other Redlock libraries see one opaque string. Foreign values are met too, so
// parsing never fails, and what it finds is bounded.

import { alone, type Claim } from './ports.ts';

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
export type Wish = Pick<Claim, 'resources' | 'ttlMs' | 'isFenced'> & Partial<Pick<Claim, 'sharing' | 'yields'>>;

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
    return isNote(note) ? { token: value.slice(0, space), note: bounded(note) } : { token: value, note: null };
  } catch {
    return { token: value, note: null };
  }
}

export function isNote(note: unknown): note is HolderNote {
  if (typeof note !== 'object' || note === null) return false;
  const { host, pid, user, since, label } = note as Record<string, unknown>;
  return Number.isSafeInteger(pid) && [host, user, since, label].every((part) => typeof part === 'string');
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
