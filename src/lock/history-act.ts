// What a person has done to a lock, as a line of its history: one line of JSON beside those of runs
// (history-record.ts), whose readers leave it out. Like those it holds no time of day.

import { boundedPerson, isPerson, type Person } from './holder-request.ts';

export const actKinds = ['stop', 'break', 'freeze', 'thaw', 'repair-freeze'] as const;
export type ActKind = (typeof actKinds)[number];

export interface Act {
  readonly kind: ActKind;
  /** Unique; the same on all masters, and in a line that was written twice. */
  readonly id: string;
  readonly by: Person;
  /** The token of the holder or of the freeze that it was done to. */
  readonly token: string;
}

const mostTokenChars = 200;
const mostIdChars = 80;

export function renderAct({ kind, id, by, token }: Act): string {
  return JSON.stringify({
    v: 1,
    act: kind,
    id: id.slice(0, mostIdChars),
    by: boundedPerson(by),
    token: token.slice(0, mostTokenChars),
  });
}

/** null for what is no act. Every client may write to a history, so what is read is bounded. */
export function parseAct(line: string): Act | null {
  try {
    const { v, act, id, by, token } = JSON.parse(line) ?? {};
    const kind = actKinds.find((one) => one === act);
    if (v !== 1 || kind === undefined || !isPerson(by)) return null;
    if (typeof id !== 'string' || typeof token !== 'string') return null;
    return {
      kind,
      id: id.slice(0, mostIdChars),
      by: boundedPerson(by),
      token: token.slice(0, mostTokenChars),
    };
  } catch {
    return null;
  }
}
