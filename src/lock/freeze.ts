// A freeze: a person's lock without a process. It stands beside the lock, on a quorum of masters,
// and bars every new holder, while the present one goes on. Its value has the form of a holder's,
// so that what knows no freezes shows a person and not nonsense.

import { cut, cutNote, parseValue } from './value.ts';

export interface Freeze {
  /** Unique: it is this freeze that is thawed, and no other. */
  readonly token: string;
  readonly user: string;
  readonly host: string;
  readonly pid: number;
  /** ISO 8601, by the clock of the host, for reading only. */
  readonly since: string;
  /** Why. */
  readonly note: string;
}

/** In the place of a command's name. */
export const freezeLabel = 'redlockctl freeze';

export function renderFreeze({ token, note, ...freeze }: Freeze): string {
  return `${token} ${JSON.stringify({ ...freeze, label: freezeLabel, frozen: note })}`;
}

/** null for what is no freeze, such as the value of a holder. */
export function parseFreeze(value: string): Freeze | null {
  const { token, record } = parseValue(value);
  if (record === null || record.label !== freezeLabel) return null;
  const { frozen } = JSON.parse(value.slice(value.indexOf(' ') + 1));
  if (typeof frozen !== 'string') return null;
  const { user, host, pid, since } = record;
  return { token, user: cut(user), host: cut(host), pid, since: cut(since), note: cutNote(frozen) };
}
