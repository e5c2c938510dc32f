// What is stored on a master: the value of a key (`<token> <holder record>`), the mode and the
// permits of a lock that several clients hold, the ids of waiters, and a freeze. Other clients
// write there too, so parsing never fails, and its results are bounded.

import type { Random } from './ports.ts';
import { alone, type Claim, type Sharing } from './types.ts';

/** The holder record, for people. `since` is wall-clock time as ISO 8601, for reading only. */
export interface HolderRecord {
  readonly host: string;
  readonly pid: number;
  readonly user: string;
  readonly since: string;
  /** What --label says; else the command's base name, never its arguments: secrets. */
  readonly label: string;
  /** What --note says, on one line; absent: nothing. */
  readonly note?: string;
  /** The page of the CI job; absent: there is none. */
  readonly url?: string;
}

export interface Holder {
  readonly token: string;
  /** null: not a value of ours, so another Redlock library or a person wrote it. */
  readonly record: HolderRecord | null;
}

/**
 * The longest text in a holder record. More does not help a reader, and every history would keep
 * it.
 */
const mostFieldChars = 80;
/** The longest --note, and the longest address of a CI job: see system/caller.ts. */
export const mostReasonChars = { note: 200, url: 250 };
/** A value of more bytes is not a holder record to older clients: refusals tell 1,024 of them. */
const mostValueBytes = 1_000;

/** What a claim asks for, beside its value: a lock held alone by default. */
export type Wish = Pick<Claim, 'resources' | 'ttlMs' | 'isFenced'> &
  Partial<Pick<Claim, 'sharing' | 'preemptible'>>;

/** A claim that does not wait in the queue. `token` must never have been used before. */
export function newClaim(wish: Wish, token: string, record: HolderRecord): Claim {
  return { ...alone, ...wish, value: renderValue(token, record), waiter: null };
}

export function renderValue(token: string, record: HolderRecord): string {
  const { note: reason = '', url, ...identity } = bounded(record);
  const withUrl = url === undefined ? identity : { ...identity, url };
  const render = (text: string) =>
    `${token} ${JSON.stringify(text === '' ? withUrl : { ...withUrl, note: text })}`;
  // What has more bytes than characters may not fit. Then the end of the note is left out.
  let kept = [...reason];
  while (kept.length > 0 && bytesIn(render(kept.join(''))) > mostValueBytes)
    kept = kept.slice(0, Math.floor(kept.length * 0.9));
  const value = render(kept.join(''));
  return url === undefined || bytesIn(value) <= mostValueBytes
    ? value
    : `${token} ${JSON.stringify(identity)}`;
}

function bytesIn(text: string): number {
  return new TextEncoder().encode(text).length;
}

export function parseValue(value: string): Holder {
  const space = value.indexOf(' ');
  if (space < 0) return { token: value, record: null };
  try {
    const record: unknown = JSON.parse(value.slice(space + 1));
    return isHolderRecord(record)
      ? { token: value.slice(0, space), record: bounded(record) }
      : { token: value, record: null };
  } catch {
    return { token: value, record: null };
  }
}

export function isHolderRecord(record: unknown): record is HolderRecord {
  if (typeof record !== 'object' || record === null) return false;
  const { host, pid, user, since, label } = record as Record<string, unknown>;
  return (
    Number.isSafeInteger(pid) &&
    [host, user, since, label].every((part) => typeof part === 'string')
  );
}

/** The known fields of a holder record, none too long. */
export function bounded({ host, pid, user, since, label, ...reason }: HolderRecord): HolderRecord {
  const identity = { host: cut(host), pid, user: cut(user), since: cut(since), label: cut(label) };
  return { ...identity, ...reasonOf(reason) };
}

/** Note and address as they are kept. Other clients may have written anything there. */
export function reasonOf({
  note,
  url,
}: {
  readonly note?: unknown;
  readonly url?: unknown;
}): Pick<HolderRecord, 'note' | 'url'> {
  const isUrl = typeof url === 'string' && url !== '' && url.length <= mostReasonChars.url;
  return {
    ...(typeof note === 'string' && note !== '' ? { note: cut(note, mostReasonChars.note) } : {}),
    ...(isUrl ? { url } : {}),
  };
}

/** The first characters of a reason that a person gives. */
export function cutNote(text: string): string {
  return cut(text, mostReasonChars.note);
}

/** The first characters of a text; never half of a surrogate pair. */
export function cut(text: string, mostChars = mostFieldChars): string {
  if (text.length <= mostChars) return text;
  return [...text.slice(0, 2 * mostChars)].slice(0, mostChars).join('');
}

/**
 * The lock mode, which the key of a lock with several holders has as its value: `shared` or `slots
 * 3`; '' for an exclusive lock, whose key holds the value of its holder.
 */
export function modeOf(sharing: Sharing): string {
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

/** Whether the value of a key is a lock mode: its holders stand in the list of holders. */
export function isMode(value: string): boolean {
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
  /** For people: see whoOf; null: unknown. */
  readonly who: string | null;
}

const known: readonly string[] = ['shared', 'newest', 'replace'] satisfies Trait[];

/** A process that waits, as its id tells; null: unknown, as from an older version. */
export interface WaitingProcess {
  readonly pid: number;
  readonly host: string;
  readonly user: string | null;
  /** The command's base name, or its --label. */
  readonly label: string | null;
  /** The beginning of its --note; null: none. */
  readonly note: string | null;
}

/**
 * The end of a waiter's id: `<pid>@<host>/<user>/<label>`, and `/<note>` where there is one.
 * redlockctl reads ids of 200 characters.
 */
export function whoOf({ host, pid, user, label, note }: Omit<HolderRecord, 'since'>): string {
  const name = cut(label.replaceAll('/', '-'), 40);
  return `${pid}@${cut(host, 64)}/${cut(user, 24)}/${name}${note ? `/${note}` : ''}`;
}

/** The process that waits under this id; null: the id does not tell. */
export function waitingProcess(id: string): WaitingProcess | null {
  const form = /^(\d{1,10})@([^/]*)(?:\/([^/]*)\/([^/]*)(?:\/(.*))?)?$/s;
  const match = form.exec(parseWaiterId(id).who ?? '');
  if (match === null) return null;
  const [, pid, host = '', user = null, label = null, note = null] = match;
  return { pid: Number(pid), host, user, label, note };
}

/**
 * `<traits>:<random>:<process>`: see whoOf. `random` makes the id unique and has no colon.
 */
export function waiterIdOf(
  { sharing, preemptible }: Pick<Claim, 'sharing' | 'preemptible'>,
  random: string,
  who: string,
): string {
  const traits: Trait[] = [];
  if (sharing.kind === 'shared') traits.push('shared');
  if (preemptible !== 'never') traits.push('newest');
  if (preemptible === 'lock') traits.push('replace');
  return `${traits.join()}:${random}:${who}`;
}

export function parseWaiterId(id: string): WaiterName {
  const [traits = '', , ...rest] = id.split(':');
  if (rest.length === 0) return { traits: [], who: null };
  return {
    traits: traits.split(',').filter((trait): trait is Trait => known.includes(trait)),
    who: rest.join(':'),
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

// A freeze is a person's lock without a process. It stands beside the lock, on a quorum of masters,
// and bars every new holder, while the present one goes on. Its value has the form of a holder's,
// so that what knows no freezes shows a person and not nonsense.

export interface Freeze {
  /** Unique: it is this freeze that is thawed, and no other. */
  readonly token: string;
  readonly user: string;
  readonly host: string;
  readonly pid: number;
  /** ISO 8601, by the clock of the host, for reading only. */
  readonly since: string;
  /** Why. */
  readonly note: string;
}

/** In the place of a command's name. */
export const freezeLabel = 'redlockctl freeze';

export function renderFreeze({ token, note, ...freeze }: Freeze): string {
  return `${token} ${JSON.stringify({ ...freeze, label: freezeLabel, frozen: note })}`;
}

/** null for what is no freeze, such as the value of a holder. */
export function parseFreeze(value: string): Freeze | null {
  const { token, record } = parseValue(value);
  if (record === null || record.label !== freezeLabel) return null;
  const { frozen } = JSON.parse(value.slice(value.indexOf(' ') + 1));
  if (typeof frozen !== 'string') return null;
  const { user, host, pid, since } = record;
  return { token, user: cut(user), host: cut(host), pid, since: cut(since), note: cutNote(frozen) };
}
