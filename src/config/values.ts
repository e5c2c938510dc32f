// Reads the text of one value: text in, value or ValueError out, whatever layer the text is from.
// *Note:* the limit of Node's timers is checked here. A timer of more than 2^31 ms fires at once,
// so `--max-run 30d` would kill the command.

import { constants } from 'node:os';
import { type Protocol, protocols } from '../redis/calls/protocol.ts';
import { type Reaction, reactions } from '../redis/masters-watch.ts';
import type { HoldOn } from '../run/ports.ts';
import { meaningOf } from '../run/signals.ts';
import { UsageError, ValueError } from '../text/errors.ts';
import { quoted, unprintable, withoutPasswords } from '../text/foreign-text.ts';
import { isBareNumber, parseDuration, renderDuration } from '../text/time.ts';

const longestTimerMs = 2 ** 31 - 1;
const longestTtlMs = 24 * 3_600_000;

/** Milliseconds, 0 or more. */
export function readDuration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs > longestTimerMs) {
    throw new ValueError(
      `${quoted(text)}: too long a duration (at most ${renderDuration(longestTimerMs)})`,
    );
  }
  return durationMs;
}

/** Milliseconds, more than 0. */
export function readPositiveDuration(text: string): number {
  const durationMs = readDuration(text);
  if (durationMs === 0) throw new ValueError(`${quoted(text)}: must be more than 0 (write 30s)`);
  return durationMs;
}

/** Milliseconds, more than 0, at most 24 hours. */
export function readTtl(text: string): number {
  const ttlMs = parseDuration(text);
  if (ttlMs > longestTtlMs) {
    throw new ValueError(
      `${quoted(text)}: after a crash the lock would stay held for more than 24h ` +
        '(write 30s; the lock is extended while the command runs)',
    );
  }
  return readPositiveDuration(text);
}

/** A warning for a valid ttl that may have been meant as milliseconds; null: none. */
export function suspicionOfTtl(text: string): string | null {
  if (!isBareNumber(text) || Number(text) < 3600) return null;
  const meant = renderDuration(readTtl(text));
  const advice = `write ${text}ms if milliseconds are meant, else ${meant}`;
  return `${quoted(text)}: ${meant}, since a bare number is seconds (${advice})`;
}

/** Milliseconds; null for `forever`. */
export function readWait(text: string): number | null {
  return text === 'forever' ? null : readDuration(text);
}

/** Milliseconds; null for `none` and, as in timeout(1), for 0. */
export function readLimit(text: string): number | null {
  return text === 'none' ? null : readDuration(text) || null;
}

/** A whole number, 0 or more. */
export function readCount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new ValueError(`${quoted(text)}: not a count (write 3)`);
  return Number(text);
}

/** A whole number, 1 to 1000. */
export function readSlots(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > 1000)
    throw new ValueError(`${quoted(text)}: not a number of slots (write a number from 1 to 1000)`);
  return count;
}

/** An exit status, 0 to 255. */
export function readStatus(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) {
    throw new ValueError(`${quoted(text)}: not an exit status (write a number from 0 to 255)`);
  }
  return Number(text);
}

/**
 * A signal by name, with or without SIG, in any case, or by number. Only signals that can end a
 * process are stop signals.
 */
export function readSignal(text: string): NodeJS.Signals {
  const known = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  const upper = text.toUpperCase();
  const name = /^\d+$/.test(text)
    ? known.find(([, number]) => number === Number(text))?.[0]
    : known.find(([candidate]) => candidate === upper || candidate === `SIG${upper}`)?.[0];
  if (name === undefined)
    throw new ValueError(`${quoted(text)}: not a signal (write TERM, INT, HUP, KILL or a number)`);
  if (!meaningOf(name).isEnding)
    throw new ValueError(`${quoted(text)}: does not end a process (write TERM, INT or KILL)`);
  return name;
}

export function readLogFormat(text: string): 'text' | 'json' {
  if (text !== 'text' && text !== 'json')
    throw new ValueError(`${quoted(text)}: not a log format (write text or json)`);
  return text;
}

const unitBytes = { '': 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 } as const;
const leastHistoryBytes = 1024 ** 2;

/** A size in bytes: `64MB`, `1GB`; at least one megabyte. */
export function readBytes(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,12}) ?([KMG]i?B|)$/i.exec(text) ?? [];
  if (digits === undefined) throw new ValueError(`${quoted(text)}: not a size (write 64MB)`);
  const name = unit.toUpperCase().replace('I', '') as keyof typeof unitBytes;
  const bytes = Number(digits) * unitBytes[name];
  if (bytes < leastHistoryBytes || !Number.isSafeInteger(bytes))
    throw new ValueError(`${quoted(text)}: less than 1MB, or too much (write 64MB)`);
  return bytes;
}

/** After which runs --hold-at-least keeps the lock. */
export function readHoldOn(text: string): HoldOn {
  if (text !== 'success' && text !== 'always')
    throw new ValueError(`${quoted(text)}: neither success nor always (write one of them)`);
  return text;
}

/** What a run does about a danger that is no mistake of its own. */
export function readReaction(text: string): Reaction {
  const reaction = reactions.find((name) => name === text);
  if (reaction === undefined)
    throw new ValueError(`${quoted(text)}: not ${reactions.join(', ')} (write one of them)`);
  return reaction;
}

/** The form of the key on the masters. */
export function readProtocol(text: string): Protocol {
  const protocol = protocols.find((name) => name === text);
  if (protocol === undefined)
    throw new ValueError(`${quoted(text)}: not a protocol (write ${protocols.join(', ')})`);
  return protocol;
}

export function readBoolean(text: string): boolean {
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw new ValueError(`${quoted(text)}: neither yes nor no (write true or false)`);
}

/**
 * Reads the value of an option that is no setting.
 * @throws UsageError
 */
export function readOption<Value>(
  option: string,
  text: string,
  read: (text: string) => Value,
): Value {
  try {
    return read(text);
  } catch (error) {
    throw error instanceof ValueError ? new UsageError(`${option}: ${error.message}`) : error;
  }
}

export function readText(text: string): string {
  return text;
}

/**
 * A text for people, on one line, without the passwords of URLs; null where nothing is left. What
 * is too long for its place is cut there.
 */
export function readNote(text: string): string | null {
  const line = text.replace(new RegExp(`${unprintable.source}|\\s`, 'gu'), ' ').replace(/ +/g, ' ');
  return withoutPasswords(line.trim().slice(0, 4_096)) || null;
}
