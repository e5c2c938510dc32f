// What the verbs that change a lock have in common: the operator, the entry in the history, and the
// answer, which is one line for people or one JSON object.

import { randomBytes } from 'node:crypto';
import { type ActKind, renderAct } from '../lock/history.ts';
import type { Person } from '../lock/people.ts';
import { maxReasonChars } from '../lock/value.ts';
import { exitCode, UsageError } from '../text/errors.ts';
import { jsonLine, quoted, withoutPasswords } from '../text/foreign-text.ts';
import type { Call } from './call.ts';

/**
 * The operator, with the reason of --note.
 * @throws UsageError
 */
export function operatorOf({ args, holderRecord }: Call): Person {
  const { user, host, pid } = holderRecord();
  const note = args.textOf('--note');
  const { verb } = args;
  if (note?.trim() === '') throw new UsageError(`${verb}: --note: "": empty (say why)`);
  const { note: maxChars } = maxReasonChars;
  if (note !== null && note.length > maxChars)
    throw new UsageError(`${verb}: --note: ${note.length} characters long (at most ${maxChars})`);
  return { user, host, pid, note: note === null ? null : withoutPasswords(note) };
}

/** An id that was never used before. */
export function newId(): string {
  return randomBytes(12).toString('base64url');
}

/** The entry of the history about what was done to the holder or the freeze with this token. */
export function actLine(kind: ActKind, by: Person, token: string): string {
  return renderAct({ kind, id: newId(), by, token });
}

/** What came of an operation. */
export interface Answer {
  readonly outcome: string;
  /** One line for people. */
  readonly message: string;
  readonly code: number;
}

/**
 * Prints the answer: on stdout what succeeded, else on stderr, beginning with `failed`; or as JSON,
 * with these facts. Returns the exit code.
 */
export function printAnswer(
  { args, print, tell }: Call,
  { outcome, message, code }: Answer,
  facts: object,
  failed = outcome.replace('-', ' '),
): number {
  const { name } = args;
  if (args.has('--json')) print(jsonLine({ name, outcome, ...facts, message }));
  else if (code === exitCode.ok) print(`${outcome}: ${quoted(name)}: ${message}\n`);
  else tell(`${failed}: ${quoted(name)}: ${message}`);
  return code;
}
