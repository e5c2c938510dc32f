// What the key of a lock holds: a value, `<token> <holder record>`, or the lock mode of a lock that
// several clients hold, with a permit for each beside it. Other clients write there too, so parsing
// never fails, and its results are bounded.

import type { Random } from './ports.ts';
import type { Claim, Sharing } from './types.ts';

/** The holder record, for operators. `since` is wall-clock time as ISO 8601, for reading only. */
export interface HolderRecord {
  readonly host: string;
  readonly pid: number;
  readonly user: string;
  readonly since: string;
  /** What --label says; else the command's base name, never its arguments: secrets. */
  readonly label: string;
  /** The process on this host for which redlockctl hold keeps the lock; absent: for none. */
  readonly forPid?: number;
  /** --hold-at-least, in ms: the lock may be kept after its run has ended; absent: it is not. */
  readonly keptMs?: number;
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

/** More does not help a reader, and every history would keep it. */
const maxFieldChars = 80;
/** The longest --note, and the longest address of a CI job. */
export const maxReasonChars = { note: 200, url: 250 };
/** Refusals contain 1,024 bytes of a value: one that is longer cannot be read as a record. */
const maxOwnBytes = 1_000;

/** A claim without its value. */
export type Wish = Pick<Claim, 'resources' | 'ttlMs' | 'isFenced' | 'sharing' | 'preemptible'>;

/** A claim that does not wait in the queue. `token` must never have been used before. */
export function newClaim(wish: Wish, token: string, record: HolderRecord): Claim {
  return { ...wish, token, value: renderValue(token, record), waiter: null };
}

export function renderValue(token: string, record: HolderRecord): string {
  const { note: reason = '', url, ...identity } = bounded(record);
  const withUrl = url === undefined ? identity : { ...identity, url };
  const render = (text: string) =>
    `${token} ${JSON.stringify(text === '' ? withUrl : { ...withUrl, note: text })}`;
  // A text of more bytes than characters may not fit. Then the end of the note is left out.
  let kept = [...reason];
  while (kept.length > 0 && bytesIn(render(kept.join(''))) > maxOwnBytes)
    kept = kept.slice(0, Math.floor(kept.length * 0.9));
  const value = render(kept.join(''));
  return url === undefined || bytesIn(value) <= maxOwnBytes
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
export function bounded(record: HolderRecord): HolderRecord {
  const { host, pid, user, since, label, forPid, keptMs, ...reason } = record;
  const identity = { host: cut(host), pid, user: cut(user), since: cut(since), label: cut(label) };
  const owner = Number.isSafeInteger(forPid) ? { forPid: forPid as number } : {};
  const kept = Number.isSafeInteger(keptMs) && Number(keptMs) > 0 ? { keptMs: Number(keptMs) } : {};
  return { ...identity, ...owner, ...kept, ...reasonOf(reason) };
}

/** Note and address as they are kept. Other clients may have written anything there. */
export function reasonOf({
  note,
  url,
}: {
  readonly note?: unknown;
  readonly url?: unknown;
}): Pick<HolderRecord, 'note' | 'url'> {
  const isUrl = typeof url === 'string' && url !== '' && url.length <= maxReasonChars.url;
  return {
    ...(typeof note === 'string' && note !== '' ? { note: cut(note, maxReasonChars.note) } : {}),
    ...(isUrl ? { url } : {}),
  };
}

/** The first characters of a reason that a person gives. */
export function cutNote(text: string): string {
  return cut(text, maxReasonChars.note);
}

/** The first characters of a text; never half of a surrogate pair. */
export function cut(text: string, maxChars = maxFieldChars): string {
  if (text.length <= maxChars) return text;
  return [...text.slice(0, 2 * maxChars)].slice(0, maxChars).join('');
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

/** The reverse of modeOf, for the holder of this slot (0: of none). */
export function sharingIn(value: string, slot: number): Sharing {
  if (value === 'shared') return { kind: 'shared' };
  const [, slotCount] = /^slots (\d+)$/.exec(value) ?? [];
  if (slotCount === undefined) return { kind: 'exclusive' };
  return { kind: 'slots', slotCount: Number(slotCount), slot };
}

/**
 * `slotCount`: one slot, or null, is no slots. The first slot is random: clients that come together
 * do not all try the same one.
 */
export function sharingOf(isShared: boolean, slotCount: number | null, random: Random): Sharing {
  if (slotCount === null || slotCount === 1) return { kind: isShared ? 'shared' : 'exclusive' };
  return { kind: 'slots', slotCount, slot: 1 + Math.floor(random() * slotCount) };
}

/** The slot of a claim for one of `slotCount` slots (null: none); a lock with one is exclusive. */
export function slotOf({ sharing }: Pick<Claim, 'sharing'>, slotCount: number | null) {
  if (sharing.kind === 'slots') return sharing.slot;
  return sharing.kind === 'exclusive' && slotCount === 1 ? 1 : null;
}

/** Whether the value of a key is a lock mode: its holders are in the list of holders. */
export function isMode(value: string): boolean {
  return /^(shared|slots \d+)$/.test(value);
}

/** An entry in the list of holders: `<slot, or 0> <value>`. null for any other text. */
export function parsePermit(
  permit: string,
): { readonly slot: number; readonly value: string } | null {
  const match = /^(\d+) (.*)$/s.exec(permit);
  return match ? { slot: Number(match[1]), value: match[2] ?? '' } : null;
}
