// What people ask of a lock's living holder, by a message on the holder's own channel: to stop its
// command, or to look at once whether its lock was broken. A message carries the token of the
// holder that it is meant for. It is a wish and no proof: a lost message changes nothing, a forged
// one stops a command at most, and what is broken is found out by an extension.

import { quorumOf } from './quorum.ts';
import { cut, cutNote } from './value.ts';

/** stop: end the command. broken: extend at once, because the lock may have been taken away. */
export type RequestKind = 'stop' | 'broken';

/** A person, as programs on the same masters know it. */
export interface Person {
  readonly user: string;
  readonly host: string;
  readonly pid: number;
  /** Why; null: no reason was given. */
  readonly note: string | null;
}

export interface HolderRequest {
  readonly kind: RequestKind;
  /** Unique; the same on all masters, and in a request that is repeated. */
  readonly id: string;
  /** The token of the holder that is meant. */
  readonly token: string;
  readonly by: Person;
}

/** The longest message that is read, in characters. */
const maxMessageChars = 4_096;
/** The longest id that is kept. */
export const maxIdChars = 80;

export function renderRequest({ kind, id, token, by }: HolderRequest): string {
  return JSON.stringify({ v: 1, kind, id, token, by: boundedPerson(by) });
}

/** null for what is no request. Every client may publish, so what is read is bounded. */
export function parseRequest(message: string): HolderRequest | null {
  if (message.length > maxMessageChars) return null;
  try {
    const { v, kind, id, token, by } = JSON.parse(message) ?? {};
    if (v !== 1 || (kind !== 'stop' && kind !== 'broken') || !isPerson(by)) return null;
    if (typeof id !== 'string' || id.length > maxIdChars || typeof token !== 'string') return null;
    return { kind, id, token, by: boundedPerson(by) };
  } catch {
    return null;
  }
}

export function isPerson(by: unknown): by is Person {
  if (typeof by !== 'object' || by === null) return false;
  const { user, host, pid, note } = by as Record<string, unknown>;
  return (
    typeof user === 'string' &&
    typeof host === 'string' &&
    Number.isSafeInteger(pid) &&
    (note === null || typeof note === 'string')
  );
}

export function boundedPerson({ user, host, pid, note }: Person): Person {
  return { user: cut(user), host: cut(host), pid, note: note === null ? null : cutNote(note) };
}

/** How many requests are kept that too few masters have passed on: a forged one costs no more. */
const maxPending = 16;

/**
 * The requests that one holder has received. A request to stop counts when a quorum of masters has
 * passed it on, as every other word of theirs; a broken lock is looked for at the first message.
 */
export class HolderRequests {
  readonly #token: string;
  readonly #quorum: number;
  readonly #pending = new Map<string, Set<string>>();
  readonly #done = new Set<string>();

  constructor(token: string, masterCount: number) {
    this.#token = token;
    this.#quorum = quorumOf(masterCount);
  }

  /** The request that this message has made count; null: none. Each counts once. */
  receive(master: string, message: string): HolderRequest | null {
    const request = parseRequest(message);
    if (request === null || request.token !== this.#token) return null;
    const key = `${request.kind} ${request.id}`;
    if (this.#done.has(key)) return null;
    const masters = this.#pending.get(key) ?? new Set();
    masters.add(master);
    this.#pending.delete(key);
    if (request.kind === 'stop' && masters.size < this.#quorum) {
      this.#pending.set(key, masters);
      keepNewest(this.#pending);
      return null;
    }
    this.#done.add(key);
    keepNewest(this.#done);
    return request;
  }
}

function keepNewest(known: Map<string, unknown> | Set<string>): void {
  const [oldest] = known.keys();
  if (known.size > maxPending && oldest !== undefined) known.delete(oldest);
}
