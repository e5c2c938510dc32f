// What operators request of the holder of a lock, by a message on the holder's own channel: to stop
// its command, or to check at once whether its lock was broken. A message carries the token of its
// holder. It is no proof: a lost one changes nothing, a forged one stops a command at most, and an
// extension finds out what is broken.

import type { Master, Subscription } from './ports.ts';
import { quorumOf } from './quorum.ts';
import type { Claim } from './types.ts';
import { cut, cutNote, parseValue } from './value.ts';
import { askedIdOf } from './waiter-id.ts';

/** stop: end the command. broken: extend at once, because the lock may have been broken. */
export type RequestKind = 'stop' | 'broken';

/** An operator, as programs on the same masters know them. */
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

export type OnRequest = (request: HolderRequest) => void;
/** Listens for what operators request of the holder of this claim. */
export type Listen = (claim: Claim, onRequest: OnRequest) => HolderChannel;

/**
 * How one holder receives requests: by a subscription on each master. A master that fails is left
 * out until the next `renew`. A request to stop counts when a quorum of masters has passed it on; a
 * broken lock is looked for at the first message.
 */
export class HolderChannel {
  readonly #claim: Claim;
  readonly #onRequest: OnRequest;
  readonly #quorum: number;
  /** The masters without a subscription, and with none under way. */
  readonly #missing: Set<Master>;
  readonly #subscriptions = new Set<Subscription>();
  /** The masters that have passed on each request that does not count yet. */
  readonly #pending = new Map<string, Set<Master>>();
  readonly #done = new Set<string>();
  #isClosed = false;

  constructor(masters: readonly Master[], claim: Claim, onRequest: OnRequest) {
    this.#claim = claim;
    this.#onRequest = onRequest;
    this.#quorum = quorumOf(masters.length);
    this.#missing = new Set(masters);
    this.renew();
  }

  /** Subscribes on the masters where that has failed. */
  renew(): void {
    const { resources, token } = this.#claim;
    for (const master of [...this.#missing]) {
      this.#missing.delete(master);
      const onMessage = (message: string) => this.#receive(master, message);
      void master.subscribe(resources, askedIdOf(token), onMessage).then((subscription) => {
        if ('kind' in subscription) this.#missing.add(master);
        else if (this.#isClosed) subscription.close();
        else this.#subscriptions.add(subscription);
      });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#missing.clear();
    for (const subscription of this.#subscriptions) subscription.close();
  }

  /** Each request counts once. */
  #receive(master: Master, message: string): void {
    const request = parseRequest(message);
    if (this.#isClosed || request === null || request.token !== this.#claim.token) return;
    const key = `${request.kind} ${request.id}`;
    if (this.#done.has(key)) return;
    const masters = (this.#pending.get(key) ?? new Set()).add(master);
    this.#pending.delete(key);
    if (request.kind === 'stop' && masters.size < this.#quorum) {
      this.#pending.set(key, masters);
      keepNewest(this.#pending);
      return;
    }
    this.#done.add(key);
    keepNewest(this.#done);
    this.#onRequest(request);
  }
}

function keepNewest(known: Map<string, unknown> | Set<string>): void {
  const [oldest] = known.keys();
  if (known.size > maxPending && oldest !== undefined) known.delete(oldest);
}

/**
 * An operator's lock without a process: beside the lock, on a quorum of masters, it bars every new
 * holder, while the present one goes on. Its value has the form of a holder's.
 */
export interface Freeze {
  /** Unique: this freeze is thawed, and no other. */
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
  return { token, user, host, pid, since, note: cutNote(frozen) };
}
