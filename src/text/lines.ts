// What people read of a lock, in every program: who holds it, for how long, which masters failed.
// Always one line. Pure. A lock name may hold anything, so it is always quoted.

import type { MasterFailure } from '../lock/types.ts';
import { isMark, parseValue, parseWaiterId } from '../lock/value.ts';
import { renderDuration } from './duration.ts';
import { printable } from './printable.ts';
import { quoted } from './quote.ts';

/** Milliseconds as a person would say them: 230ms, 4.2s, 1m5s. */
export function roughly(ms: number): string {
  const magnitude = Math.abs(ms);
  if (magnitude < 1_000) return `${Math.round(ms)}ms`;
  if (magnitude < 60_000) return `${(ms / 1000).toFixed(1).replace(/\.0$/, '')}s`;
  return (ms < 0 ? '-' : '') + renderDuration(Math.round(magnitude / 1000) * 1000);
}

/** Who holds the lock: "root@web1, pid 4711, backup.sh, since 2026-11-21T02:00:00Z"; `count`: as how many different holders. */
export function holderLine(value: string, remainingMs: number | null, count: number): string {
  if (value === '') return 'free, but others are before us';
  const { token, note } = parseValue(value);
  const who = isMark(value)
    ? markLine(value)
    : note
      ? `held by ${printable(note.user)}@${printable(note.host)}, pid ${note.pid}, ${printable(note.label)}, since ${printable(note.since)}`
      : `held by another program (${foreignValue(token)})`;
  if (count > 1) {
    const end =
      remainingMs === null
        ? 'not all of this expires by itself'
        : `free in ${roughly(remainingMs)} unless extended`;
    return `masters show ${count} holders, on some it is ${who}; ${end}`;
  }
  return `${who}; ${remainingMs === null ? 'it never expires by itself' : `lease ends in ${roughly(remainingMs)} unless extended`}`;
}

/** "value 0af3", or what the scripts say where there is no text: "an empty value", "a hash". */
function foreignValue(value: string): string {
  const [, said] = /^\((an empty value|a (list|set|zset|hash|stream))\)$/.exec(value) ?? [];
  return said ?? `value ${printable(value, 40)}`;
}

/** Of a lock that several hold: "held by others who share it". */
export function markLine(mark: string): string {
  const [kind, slotCount] = mark.split(' ');
  return kind === 'shared' ? 'held by others who share it' : `held on slots, ${slotCount} in all`;
}

/** That a newer waiter has come, by his id. */
export function supersededLine(which: string, by: string): string {
  return `busy: ${which}: superseded by ${waiterLine(by)}`;
}

/** Another waiter: "a newer run, pid 4711 on web1". */
export function waiterLine(id: string): string {
  const who = parseWaiterId(id).who?.match(/^(\d+)@(.*)$/s);
  return who ? `a newer run, pid ${who[1]} on ${printable(who[2] ?? '')}` : 'a newer run';
}

export function failuresLine(failures: readonly MasterFailure[]): string {
  return failures.map(({ master, failed }) => `${master}: ${failed.message}`).join('; ');
}

export function whichOf(names: readonly string[]): string {
  return names.map((name) => quoted(name)).join(' ');
}
