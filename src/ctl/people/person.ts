// The person at the keyboard, for holders, freezes and histories: what --note says, and the line of
// the history about what was done.

import { randomBytes } from 'node:crypto';
import { type ActKind, renderAct } from '../../lock/history.ts';
import type { Person } from '../../lock/people.ts';
import { maxReasonChars } from '../../lock/value.ts';
import { UsageError } from '../../text/errors.ts';
import { withoutPasswords } from '../../text/foreign-text.ts';
import type { Call } from '../call.ts';
import type { MasterQuery } from '../master-query.ts';

/**
 * The person, with the reason of --note.
 * @throws UsageError
 */
export function personOf({ args, holderRecord }: Call): Person {
  const { user, host, pid } = holderRecord();
  return { user, host, pid, note: reasonIn(args) };
}

/** An id that was never used before. */
export function newId(): string {
  return randomBytes(12).toString('base64url');
}

/** The line of the history about something done to the holder or the freeze with this token. */
export function actLine(kind: ActKind, by: Person, token: string): string {
  return renderAct({ kind, id: newId(), by, token });
}

/** Adds it to the history on every master that takes it. */
export async function addToHistory(query: MasterQuery, name: string, line: string): Promise<void> {
  await query.ask((master) => master.addLine(name, line));
}

function reasonIn(args: Call['args']): string | null {
  const given = args.textOf('--note');
  if (given === null) return null;
  const verb = args.verb;
  if (given.trim() === '') throw new UsageError(`${verb}: --note: "": empty (say why)`);
  if (given.length > maxReasonChars.note) {
    throw new UsageError(
      `${verb}: --note: ${given.length} characters long (at most ${maxReasonChars.note})`,
    );
  }
  return withoutPasswords(given);
}
