// --until TIME and --for DUR: how long a freeze lasts.

import { parseDuration } from '../../text/duration.ts';
import { UsageError, ValueError } from '../../text/errors.ts';
import { quoted } from '../../text/quote.ts';
import type { VerbWords } from '../arguments.ts';

const longestMs = 10 * 365 * 24 * 60 * 60 * 1000;

/**
 * In ms from `now`; null: until it is thawed.
 * @throws UsageError
 */
export function freezeMsOf({ textOf }: Pick<VerbWords, 'textOf'>, now: Date): number | null {
  const [until, duration] = [textOf('--until'), textOf('--for')];
  if (until !== null && duration !== null)
    throw new UsageError('freeze: --until and --for: both given (say one of them)');
  if (duration !== null) return bounded('--for', duration, durationOf(duration));
  return until === null ? null : bounded('--until', until, instantOf(until, now) - now.getTime());
}

function bounded(option: string, text: string, ms: number): number {
  if (ms <= 0) throw new UsageError(`freeze: ${option}: ${quoted(text)}: over already`);
  if (ms > longestMs)
    throw new UsageError(`freeze: ${option}: ${quoted(text)}: more than ten years (leave it out)`);
  return ms;
}

function durationOf(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw error instanceof ValueError ? new UsageError(`freeze: --for: ${error.message}`) : error;
  }
}

/** In ms since 1970: `18:00`, the next one; `2026-12-01`, its first moment; local time. */
function instantOf(text: string, now: Date): number {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  if (hours !== undefined && Number(hours) < 24 && Number(minutes) < 60) {
    const instant = new Date(now);
    instant.setHours(Number(hours), Number(minutes), 0, 0);
    if (instant <= now) instant.setDate(instant.getDate() + 1);
    return instant.getTime();
  }
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:?\d{2})?$/.test(text);
  const instant = isDay || isMoment ? Date.parse(isDay ? `${text}T00:00` : text) : Number.NaN;
  if (Number.isNaN(instant)) {
    const advice = 'write 18:00, 2026-12-01 or 2026-12-01T18:00';
    throw new UsageError(`freeze: --until: ${quoted(text)}: not a time (${advice})`);
  }
  return instant;
}
