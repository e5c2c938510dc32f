// How the journal of systemd learns the level of a line: one that begins with `<4>` is stored as a
// warning. Only where stderr is the journal itself, as $JOURNAL_STREAM says; see sd-daemon(3).

import { fstatSync } from 'node:fs';

/** As in syslog(3). */
export const level = { error: 3, warning: 4, notice: 5, info: 6 } as const;
export type Level = keyof typeof level;

/** Whether stderr is the stream of the journal: `<device>:<inode>`. */
export function isJournal({ JOURNAL_STREAM: stream }: NodeJS.ProcessEnv): boolean {
  if (!stream) return false;
  try {
    const { dev, ino } = fstatSync(2);
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/** `<4>` where stderr is the journal, else nothing. */
export function prefixOf(name: Level, environment: NodeJS.ProcessEnv): string {
  return isJournal(environment) ? `<${level[name]}>` : '';
}
