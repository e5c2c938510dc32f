// Times of day for people, in the time zone of redlockctl's environment, because cron's 02:00 is
// local time. JSON has ISO 8601 instead.

export interface Local {
  /** 2026-11-21 */
  readonly day: string;
  /** 02:00:14 */
  readonly time: string;
}

export function localOf(ms: number): Local {
  const date = new Date(ms);
  const two = (part: number) => String(part).padStart(2, '0');
  return {
    day: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`,
    time: `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
  };
}

/** 2026-11-21 02:00:14 */
export function momentOf(ms: number): string {
  const { day, time } = localOf(ms);
  return `${day} ${time}`;
}

/** The last midnight. */
export function midnightBefore(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

/** Europe/Berlin */
export function zoneName(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
