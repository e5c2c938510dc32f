// The line that tells of a wait, in the words of all programs: for how long, of how much, which
// position, which holder and since when.

import { type Freeze, parseFreeze } from '../lock/freeze.ts';
import { type HolderNote, isMark, parseValue } from '../lock/value.ts';
import { renderDuration } from './duration.ts';
import { foreignValue, markLine, whichOf } from './lines.ts';
import { printable } from './printable.ts';
import { quoted } from './quote.ts';

/** What is known of a wait for a lock. */
export interface WaitFacts {
  readonly names: readonly string[];
  readonly waitedMs: number;
  /** The longest that the wait may last; null: for ever, or this is not limited by time. */
  readonly waitMs: number | null;
  /** How many waiters are before us in the queue; null: we are not in it. */
  readonly position: number | null;
  /** "held by ...", "no quorum: ...". */
  readonly why: string;
}

/** `waiting 1m12s (of 10m) for "deploy": 2nd in the queue; held by ...`. */
export function waitingLine({ names, waitedMs, waitMs, position, why }: WaitFacts): string {
  const limit = waitMs === null ? '' : ` (of ${renderDuration(waitMs)})`;
  const where = position === null ? '' : `${ordinal(position + 1)} in the queue; `;
  return `waiting ${inSeconds(waitedMs)}${limit} for ${whichOf(names)}: ${where}${why}`;
}

/** The beginning of that line: it may be shown in a colour. */
export const waitingHead = /^waiting \S+( \(of \S+\))?(?= for )/;

/**
 * "held by ops@web1 (pid 4711, deploy.sh) for 3m20s": the span is by the clocks of the holder's
 * host and of this one. `remainingMs`: null where the key never expires; `count`: how many
 * different holders the masters show.
 */
export function heldByLine(
  value: string,
  remainingMs: number | null,
  count: number,
  nowMs: number,
): string {
  if (value === '') return 'free, but other waiters are ahead in the queue';
  const freeze = parseFreeze(value);
  if (freeze !== null) return frozenBy(freeze, nowMs);
  const holder = isMark(value) ? markLine(value) : heldBy(value, nowMs);
  const forEver = remainingMs === null ? '; it never expires by itself' : '';
  return count > 1
    ? `masters show ${count} holders, on some it is ${holder}${forEver}`
    : `${holder}${forEver}`;
}

function heldBy(value: string, nowMs: number): string {
  const { token, note } = parseValue(value);
  return `held by ${note ? waitedOn(note, nowMs) : `another program (${foreignValue(token)})`}`;
}

/** `frozen by ops@web1 for 3m20s: "no deploys today"` */
function frozenBy({ user, host, since, note }: Freeze, nowMs: number): string {
  const person = `${printable(user)}@${printable(host)}`;
  return `frozen by ${person}${spanSince(since, nowMs)}: ${quoted(note)}`;
}

/** "ops@web1 (pid 4711, deploy.sh) for 3m20s" */
export function waitedOn(note: HolderNote, nowMs: number): string {
  const [user, host, label] = [note.user, note.host, note.label].map((text) => printable(text));
  return `${user}@${host} (pid ${note.pid}, ${label})${spanSince(note.since, nowMs)}`;
}

/** " for 3m20s"; empty where `since` is no time. */
function spanSince(since: string, nowMs: number): string {
  const sinceMs = Date.parse(since);
  return Number.isNaN(sinceMs) ? '' : ` for ${inSeconds(nowMs - sinceMs)}`;
}

/** In whole seconds: `0s`, `3m20s`. Clocks may differ: never negative. */
function inSeconds(ms: number): string {
  return renderDuration(Math.floor(Math.max(0, ms) / 1_000) * 1_000);
}

/** `1st`, `2nd`, `3rd`, `4th`, `11th`. */
function ordinal(count: number): string {
  const isTeen = Math.floor((count % 100) / 10) === 1;
  const result = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${result}`;
}
