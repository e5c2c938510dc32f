// The kinds of values: how a text is read, whatever layer it is from, and how the value is shown.
// *Note:* the limit of Node's timers is checked here. A timer of more than 2^31 ms fires at once,
// so `--max-run 30d` would kill the command.

import { constants } from 'node:os';
import { resolve } from 'node:path';
import { protocols } from '../redis/keys.ts';
import { reactions } from '../redis/masters-watch.ts';
import { meaningOf } from '../run/signals.ts';
import { UsageError, ValueError } from '../text/errors.ts';
import { quoted, unprintable, withoutPasswords } from '../text/foreign-text.ts';
import { maxSlotCount, maxTtlMs } from '../text/option-rules.ts';
import { isBareNumber, parseDuration, renderDuration } from '../text/time.ts';

const maxTimerMs = 2 ** 31 - 1;

export interface Kind<Value, Suffix extends string = ''> {
  /** `base`: where a relative path starts. @throws ValueError */
  readonly parse: (text: string, base?: string) => Value;
  /** For --dry-run. */
  readonly render: (value: NonNullable<Value>) => string;
  /** What a configuration file may hold besides text. */
  readonly scalar: 'number' | 'boolean' | null;
  /** Its words, where it has few, for completion. */
  readonly choices?: readonly string[];
  /** Why any other value is refused. */
  readonly mistake: string;
  /** What the names of such fields of `Settings` end in. */
  readonly suffix: Suffix;
}

export const kinds = {
  duration: duration(parseMs, '30s'),
  /** More than 0. */
  span: duration(parseSpan, '30s'),
  ttl: duration(parseTtl, '30s'),
  /** null: `forever`. */
  wait: duration((text) => (text === 'forever' ? null : parseMs(text)), '30s or forever'),
  /** null: `none` and, as in timeout(1), 0. */
  limit: duration((text) => (text === 'none' ? null : parseMs(text) || null), '30s or none'),
  count: integer('not a count (write 3)', 0, 999_999_999),
  slots: integer('not a number of slots (write a number from 1 to 1000)', 1, maxSlotCount),
  status: integer('not an exit status (write a number from 0 to 255)', 0, 255),
  bytes: kind('not a size (write 64MB)', parseBytes, 'number'),
  signal: {
    ...kind('not a signal (write TERM, INT, HUP, KILL or a number)', parseSignal, 'number'),
    choices: ['TERM', 'INT', 'HUP', 'QUIT', 'KILL', 'USR1', 'USR2'],
  },
  boolean: {
    ...kind('neither yes nor no (write true or false)', parseBoolean, 'boolean'),
    render: (value: boolean) => (value ? 'yes' : 'no'),
  },
  holdOn: oneOf('a condition', ['success', 'always']),
  reaction: oneOf('a reaction', reactions),
  format: oneOf('a log format', ['text', 'json']),
  protocol: oneOf('a protocol', protocols),
  text: text((given) => given, 4096),
  note: text(parseNote, 200),
  path: text((given, base = '') => resolve(base, given), 4096),
} as const;

/** `parse` returns undefined for what has no message of its own. */
function kind<Value extends string | number | boolean>(
  mistake: string,
  parse: (text: string) => Value | undefined,
  scalar: 'number' | 'boolean' | null,
): Kind<Value> {
  const parseOrRefuse = (given: string) => {
    const value = parse(given);
    if (value === undefined) throw new ValueError(`${quoted(given)}: ${mistake}`);
    return value;
  };
  return { parse: parseOrRefuse, render: String, scalar, mistake, suffix: '' };
}

function duration<Value extends number | null>(
  parse: (text: string) => Value,
  example: string,
): Kind<Value, 'Ms'> {
  const mistake = `not a duration (write ${example}; a bare number is seconds)`;
  return { parse, render: renderDuration, scalar: 'number', mistake, suffix: 'Ms' };
}

function integer(mistake: string, min: number, max: number): Kind<number> {
  const digits = new RegExp(`^\\d{1,${String(max).length}}$`);
  const isRight = (given: string) =>
    digits.test(given) && Number(given) >= min && Number(given) <= max;
  return kind(mistake, (given) => (isRight(given) ? Number(given) : undefined), 'number');
}

function oneOf<Word extends string>(what: string, words: readonly Word[]): Kind<Word> {
  const text = words.join(', ').replace(/, (?=[^,]*$)/, ' or ');
  const parse = (given: string) => words.find((word) => word === given);
  return { ...kind(`not ${what} (write ${text})`, parse, null), choices: words };
}

function text<Value extends string | null>(
  parse: (text: string, base?: string) => Value,
  maxChars: number,
): Kind<Value> {
  const render = (value: string) => quoted(value, maxChars);
  return { parse, render, scalar: null, mistake: 'not text (put it in quotes)', suffix: '' };
}

function parseMs(given: string): number {
  const durationMs = parseDuration(given);
  if (durationMs <= maxTimerMs) return durationMs;
  const limit = `at most ${renderDuration(maxTimerMs)}`;
  throw new ValueError(`${quoted(given)}: too long a duration (${limit})`);
}

function parseSpan(given: string): number {
  const durationMs = parseMs(given);
  if (durationMs > 0) return durationMs;
  throw new ValueError(`${quoted(given)}: must be more than 0 (write 30s)`);
}

function parseTtl(given: string): number {
  if (parseDuration(given) <= maxTtlMs) return parseSpan(given);
  throw new ValueError(
    `${quoted(given)}: after a crash the lock would stay held for more than 24h ` +
      '(write 30s; the lock is extended while the command runs)',
  );
}

/** A warning for a valid ttl that may have been meant as milliseconds; null: none. */
export function suspicionOfTtl(given: string): string | null {
  if (!isBareNumber(given) || Number(given) < 3600) return null;
  const meant = renderDuration(parseTtl(given));
  const advice = `write ${given}ms if milliseconds are meant, else ${meant}`;
  return `${quoted(given)}: ${meant}, since a bare number is seconds (${advice})`;
}

/** By name, with or without SIG, in any case, or by number; only one that can end a process. */
function parseSignal(given: string): NodeJS.Signals | undefined {
  const known = Object.entries(constants.signals) as [NodeJS.Signals, number][];
  const upper = given.toUpperCase();
  const name = /^\d+$/.test(given)
    ? known.find(([, number]) => number === Number(given))?.[0]
    : known.find(([candidate]) => candidate === upper || candidate === `SIG${upper}`)?.[0];
  if (name === undefined || meaningOf(name).isEnding) return name;
  throw new ValueError(`${quoted(given)}: does not end a process (write TERM, INT or KILL)`);
}

const unitBytes = { '': 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 } as const;
const minHistoryBytes = 1024 ** 2;

/** `64MB`, `1GB`; at least one megabyte. */
function parseBytes(given: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,12}) ?([KMG]i?B|)$/i.exec(given) ?? [];
  if (digits === undefined) return undefined;
  const name = unit.toUpperCase().replace('I', '') as keyof typeof unitBytes;
  const bytes = Number(digits) * unitBytes[name];
  if (bytes >= minHistoryBytes && Number.isSafeInteger(bytes)) return bytes;
  throw new ValueError(`${quoted(given)}: less than 1MB, or too much (write 64MB)`);
}

function parseBoolean(given: string): boolean | undefined {
  if (given === 'true' || given === '1') return true;
  return given === 'false' || given === '0' ? false : undefined;
}

/**
 * On one line, without the passwords of URLs; null where nothing is left. What is too long for its
 * place is cut there.
 */
function parseNote(given: string): string | null {
  const line = given
    .replace(new RegExp(`${unprintable.source}|\\s`, 'gu'), ' ')
    .replace(/ +/g, ' ');
  return withoutPasswords(line.trim().slice(0, 4_096)) || null;
}

/**
 * Reads the value of an option that is no setting.
 * @throws UsageError
 */
export function readOption<Value>(
  option: string,
  given: string,
  parse: (text: string) => Value,
): Value {
  try {
    return parse(given);
  } catch (error) {
    throw error instanceof ValueError ? new UsageError(`${option}: ${error.message}`) : error;
  }
}
