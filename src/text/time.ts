// Durations and times of day as people write and read them. A duration is 500ms, 30s, 5m, 2h,
// 1h30m, 1d or 0.5s; a bare number is seconds, as in flock(1), sleep(1) and timeout(1); inside the
// program every duration is milliseconds. A time of day is in the time zone of the environment,
// because cron's 02:00 is local time; JSON has ISO 8601 instead.

import { ValueError } from './errors.ts';
import { quoted } from './foreign-text.ts';

const number = String.raw`(\d+(?:\.\d+)?|\.\d+)`;
const bare = new RegExp(`^${number}$`);
const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'm', ms: 60_000 },
  { name: 's', ms: 1_000 },
  { name: 'ms', ms: 1 },
] as const;
const withUnits = new RegExp(`^${units.map((unit) => `(?:${number}${unit.name})?`).join('')}$`);

/**
 * Milliseconds, a safe integer, of a text such as `1h30m` or `0.5` (seconds); 0 only where the text
 * says 0. Units go from large to small, each once; no sign, no spaces, no exponent.
 * @throws ValueError for everything else; its message quotes the text and says what to write.
 */
export function parseDuration(text: string): number {
  const seconds = bare.exec(text)?.[1];
  const amounts = seconds === undefined ? withUnits.exec(text)?.slice(1) : undefined;
  if (text === '' || (seconds === undefined && amounts === undefined)) {
    throw new ValueError(
      `${quoted(text)}: not a duration ` +
        '(write 500ms, 30s, 5m, 2h, 1h30m or 1d; a bare number is seconds)',
    );
  }
  const exactMs = seconds === undefined ? sumOf(amounts ?? []) : Number(seconds) * 1000;
  // Of some settings 0 means that there is no limit.
  const ms = exactMs > 0 ? Math.max(1, Math.round(exactMs)) : 0;
  // The limit of every key is far below this, and is checked where the key is read.
  return Math.min(ms, Number.MAX_SAFE_INTEGER);
}

/** Whether it is a number without a unit. */
export function isBareNumber(text: string): boolean {
  return bare.test(text);
}

function sumOf(amounts: readonly (string | undefined)[]): number {
  return units.reduce((sum, unit, index) => sum + Number(amounts[index] ?? 0) * unit.ms, 0);
}

/**
 * The shortest text that parseDuration reads back as `durationMs`, a whole number of
 * milliseconds: 90000 is `1m30s`.
 */
export function renderDuration(durationMs: number): string {
  if (durationMs < 1000) return durationMs === 0 ? '0s' : `${durationMs}ms`;
  let rest = durationMs;
  let text = '';
  for (const unit of units.slice(0, 3)) {
    const count = Math.floor(rest / unit.ms);
    if (count > 0) text += `${count}${unit.name}`;
    rest -= count * unit.ms;
  }
  return rest === 0 ? text : `${text}${rest / 1000}s`;
}

/** 2026-11-21 02:00:14 */
export function momentOf(ms: number): string {
  const date = new Date(ms);
  const two = (part: number) => String(part).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}

/** ISO 8601. Clamped to what a Date can hold, because other clients may have written any number. */
export function iso(ms: number): string {
  return new Date(Math.min(Math.max(ms, 0), 8.64e15)).toISOString();
}
