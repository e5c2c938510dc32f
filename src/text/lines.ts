// The lines about a lock that all programs print: its holder, since when and why, and which
// masters failed. Each is one line. A lock name may contain anything, so it is always quoted.

import type { Unkillable } from '../lock/history.ts';
import { type Freeze, type Person, parseFreeze } from '../lock/people.ts';
import type { Failed, MasterFailure } from '../lock/types.ts';
import { type HolderRecord, isMode, parseValue, sharingIn } from '../lock/value.ts';
import { waitingProcess } from '../lock/waiter-id.ts';
import { printable, quoted } from './foreign-text.ts';
import { renderDuration } from './time.ts';

/** `null` and absent: there is none. */
export interface Reason {
  readonly note?: string | null | undefined;
  readonly url?: string | null | undefined;
}

/** `note "release 4.2"` and `https://ci.example.com/7`, as far as they are there. */
export function reasonParts({ note, url }: Reason): string[] {
  return [...(note ? [`note ${quoted(note, 200)}`] : []), ...(url ? [printable(url, 250)] : [])];
}

/** The same behind a text: `, note "release 4.2", https://ci.example.com/7`, or nothing. */
export function reasonBehind(reason: Reason): string {
  return reasonParts(reason)
    .map((part) => `, ${part}`)
    .join('');
}

/** Milliseconds as a rounded text for people: 230ms, 4.2s, 1m5s. */
export function roughly(ms: number): string {
  const magnitude = Math.abs(ms);
  if (magnitude < 1_000) return `${Math.round(ms)}ms`;
  if (magnitude < 60_000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')}s`;
  return (ms < 0 ? '-' : '') + renderDuration(Math.round(magnitude / 1000) * 1000);
}

/**
 * The holder: "held by root@web1, pid 4711, backup.sh, since 2026-11-21T02:00:00Z; lease ends in
 * 29.9s unless extended". `remainingMs`: null where the key never expires; `count`: how many
 * different holders the masters show.
 */
export function holderLine(value: string, remainingMs: number | null, count: number): string {
  const freeze = parseFreeze(value);
  if (freeze !== null) return freezeLine(freeze, remainingMs);
  if (value === '') return 'free, but other waiters are ahead in the queue';
  const holder = isMode(value) ? modeLine(value) : `held by ${holderText(value)}`;
  if (count > 1) {
    const end =
      remainingMs === null
        ? 'not all of this expires by itself'
        : `free in ${roughly(remainingMs)} unless extended`;
    return `masters show ${count} holders, on some it is ${holder}; ${end}`;
  }
  const kept = keptLine(value);
  return `${holder}; ${kept === '' ? '' : `${kept}; `}${leaseEnd(remainingMs)}`;
}

/** When the key of a lock that is held expires; null: never. */
export function leaseEnd(remainingMs: number | null): string {
  return remainingMs === null
    ? 'it never expires by itself'
    : `lease ends in ${roughly(remainingMs)} unless extended`;
}

/** Its process may have ended long ago. Empty where the lock is freed with it. */
function keptLine(value: string): string {
  const { keptMs = 0 } = parseValue(value).record ?? {};
  if (keptMs === 0) return '';
  return `kept ${roughly(keptMs)} at least, also after its run (--hold-at-least)`;
}

type ShownFreeze = Pick<Freeze, 'user' | 'host' | 'since' | 'note'>;

/** `frozen by ops@web1 since 2026-11-21T02:00:00Z: "no deploys today"; until it is thawed` */
export function freezeLine(freeze: ShownFreeze, remainingMs: number | null): string {
  const end =
    remainingMs === null ? 'until it is thawed' : `for another ${roughly(remainingMs)} at most`;
  return `${frozenLine(freeze)}; ${end}`;
}

/** The same without its end: `frozen by ops@web1 since 2026-11-21T02:00:00Z: "no deploys today"` */
export function frozenLine(freeze: ShownFreeze): string {
  return frozenBy(freeze, ` since ${printable(freeze.since)}`);
}

function frozenBy({ user, host, note }: ShownFreeze, since: string): string {
  return `frozen by ${at(user, host)}${since}: ${quoted(note)}`;
}

function at(user: string, host: string): string {
  return `${printable(user)}@${printable(host)}`;
}

/** "root@web1, pid 4711, backup.sh, since 2026-11-21T02:00:00Z, note "why"" */
export function holderText(value: string): string {
  const { token, record } = parseValue(value);
  if (!record) return foreignProgram(token);
  const { user, host, pid, label, since } = record;
  const process = `${at(user, host)}, pid ${pid}, ${printable(label)}`;
  return `${process}, since ${printable(since)}${reasonBehind(record)}`;
}

/** "another program (value 0af3)", or in the words of the scripts "another program (a hash)". */
function foreignProgram(value: string): string {
  const [, kind] = /^\((an empty value|a (list|set|zset|hash|stream))\)$/.exec(value) ?? [];
  return `another program (${kind ?? `value ${printable(value, 40)}`})`;
}

/** The line about a lock with several holders: "held by shared holders". */
export function modeLine(mode: string): string {
  const sharing = sharingIn(mode, 0);
  if (sharing.kind !== 'slots') return 'held by shared holders';
  return `held on slots, ${sharing.slotCount} in all`;
}

/** Another waiter, by its id: "a newer run, pid 4711 on web1". */
export function waiterLine(id: string): string {
  const waiter = waitingProcess(id);
  return waiter === null
    ? 'a newer run'
    : `a newer run, pid ${waiter.pid} on ${printable(waiter.host)}`;
}

/** `ops@web1 (pid 4711): "the disk is full"` */
export function personLine({ user, host, pid, note }: Person): string {
  const person = `${at(user, host)} (pid ${pid})`;
  return note === null ? person : `${person}: ${quoted(note)}`;
}

/** "30347, 30348 of root (uid 0)" */
export function unkillableLine(unkillable: readonly Unkillable[]): string {
  const users = [...new Set(unkillable.map(({ user }) => user))];
  return users
    .map((user) => {
      const pids = unkillable.filter((one) => one.user === user).map(({ pid }) => pid);
      return pids.join(', ') + (user === null ? '' : ` of ${printable(user)}`);
    })
    .join(', ');
}

/** "redis://a:6379: connection refused (start ...); redis://b:6379: no answer within 500 ms" */
export function failuresLine(failures: readonly MasterFailure[]): string {
  return failures.map(({ master, failed }) => `${master}: ${failureLine(failed)}`).join('; ');
}

/** "connection refused (start the server, or correct its address)" */
export function failureLine({ message, advice }: Pick<Failed, 'message' | 'advice'>): string {
  return advice === undefined ? message : `${message} (${advice})`;
}

/** The names of the locks, quoted: `"a" "b"`. */
export function whichOf(names: readonly string[]): string {
  return names.map((name) => quoted(name)).join(' ');
}

/** The same where one of them is meant: `"b" of "a" "b"`, or `one of "a" "b"`. */
export function oneOf(names: readonly string[], name?: string): string {
  if (names.length === 1) return whichOf(names);
  return `${name === undefined ? 'one' : quoted(name)} of ${whichOf(names)}`;
}

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
  if (freeze !== null) return frozenBy(freeze, spanSince(freeze.since, nowMs));
  const { token, record } = parseValue(value);
  const held = record ? waitedOn(record, nowMs) : foreignProgram(token);
  const holder = isMode(value) ? modeLine(value) : `held by ${held}`;
  const end = remainingMs === null ? '; it never expires by itself' : '';
  if (count > 1) return `masters show ${count} holders, on some it is ${holder}${end}`;
  const kept = keptLine(value);
  return `${holder}${kept === '' ? '' : `; ${kept}`}${end}`;
}

/** "ops@web1 (pid 4711, deploy.sh) for 3m20s" */
export function waitedOn({ user, host, pid, label, since }: HolderRecord, nowMs: number): string {
  return `${at(user, host)} (pid ${pid}, ${printable(label)})${spanSince(since, nowMs)}`;
}

/** " for 3m20s"; empty where `since` is no time. */
function spanSince(since: string, nowMs: number): string {
  const sinceMs = Date.parse(since);
  return Number.isNaN(sinceMs) ? '' : ` for ${inSeconds(nowMs - sinceMs)}`;
}

/** In whole seconds: `0s`, `3m20s`. Clocks may differ: never negative. */
export function inSeconds(ms: number): string {
  return renderDuration(Math.floor(Math.max(0, ms) / 1_000) * 1_000);
}
