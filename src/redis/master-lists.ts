// Whether the masters of this host could grant a lock beside those of another one: two lists
// exclude each other only where every quorum of one shares a master with every quorum of the other.
// The masters keep which hosts have used which lists (scripts/server.lua). A list is compared by
// the ids of the data sets, so other names for the same servers make no difference.

import { quorumOf } from '../lock/quorum.ts';
import type { Failed } from '../lock/types.ts';
import { printable } from '../text/foreign-text.ts';
import { type ScriptCall, toServer } from './calls/script-calls.ts';
import { failed } from './errors.ts';
import type { Mark, ServerIdentity } from './identity.ts';
import { markKeyOf } from './keys.ts';

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
/** A list of more masters, or with longer addresses, is cut: what is left out is unknown. */
const mostTextChars = 4_000;
const mostHostChars = 255;
const mostLists = 100;

export interface MasterList {
  /** How many masters are configured, whether they have been reached or not. */
  readonly configuredCount: number;
  /** The addresses of those that have been reached, by the ids of their data sets. */
  readonly addresses: ReadonlyMap<string, string>;
}

/** A list that a host has used. */
export interface UsedList extends MasterList {
  readonly host: string;
  /** When the host wrote it, by our clock. */
  readonly writtenAt: number;
}

/** How the list of another host differs from ours; `master`: the one that told of it. */
export interface ListDifference {
  readonly master: string;
  readonly host: string;
  /** Addresses of masters that it has and we do not have, and the other way round. */
  readonly added: readonly string[];
  readonly missing: readonly string[];
}

/**
 * Whether a quorum of one list may have no master in common with a quorum of the other. Masters
 * that have not been reached may be any of the other list: then they are no reason for alarm.
 */
export function couldBothGrant(ours: MasterList, theirs: MasterList): boolean {
  const [ourCount, theirCount] = [ours.configuredCount, theirs.configuredCount];
  const shared = [...ours.addresses.keys()].filter((id) => theirs.addresses.has(id)).length;
  const [ourRest, theirRest] = [ourCount - shared, theirCount - shared];
  const unreached =
    Math.max(0, ourCount - ours.addresses.size) + Math.max(0, theirCount - theirs.addresses.size);
  const mostShared = shared + Math.min(unreached, ourRest, theirRest);
  return quorumOf(ourCount) + quorumOf(theirCount) <= ourCount + theirCount - mostShared;
}

/**
 * The lists of the last day, the youngest first, with the master that told of each. One counts only
 * while it is younger than each of our masters: what was written before one of them was replaced or
 * added is over. So none counts while a master of ours has not told how old it is.
 */
export function listsThatCount(
  seen: readonly SeenLists[],
  configuredCount: number,
  now: number,
): (UsedList & { readonly master: string })[] {
  if (seen.length < configuredCount) return [];
  const countsFrom = Math.max(now - dayMs, ...seen.map(({ mark }) => mark.since));
  return seen
    .flatMap(({ name, lists }) => lists.map((list) => ({ ...list, master: name })))
    .filter(({ writtenAt }) => writtenAt > countsFrom)
    .sort((a, b) => b.writtenAt - a.writtenAt);
}

/**
 * The youngest list with which a lock could be granted beside ours; null: none is known. So many
 * masters are configured here, reached or not.
 */
export function differenceIn(
  seen: readonly SeenLists[],
  configuredCount: number,
  now: number,
): ListDifference | null {
  const ours = listOf(seen, configuredCount);
  const counting = listsThatCount(seen, configuredCount, now);
  const differing = counting.find((list) => couldBothGrant(ours, list));
  if (differing === undefined) return null;
  const { master, host, addresses } = differing;
  const beside = (some: MasterList['addresses'], others: MasterList['addresses']) =>
    [...some].flatMap(([id, address]) => (others.has(id) ? [] : [address])).sort();
  const [added, missing] = [beside(addresses, ours.addresses), beside(ours.addresses, addresses)];
  return { master, host, added, missing };
}

/** What a master has told that is connected now. */
export interface SeenLists {
  readonly name: string;
  readonly mark: Mark & { readonly id: string };
  readonly lists: readonly UsedList[];
}

/** The list of this host, as far as its masters have been reached. */
export function listOf(seen: readonly SeenLists[], configuredCount: number): MasterList {
  return { configuredCount, addresses: new Map(seen.map(({ name, mark }) => [mark.id, name])) };
}

/** Whether the master has to be told our list: it has an old one of this host, or less of it. */
export function isNewTo(
  lists: readonly UsedList[],
  host: string,
  { configuredCount, addresses }: MasterList,
  now: number,
): boolean {
  const [written] = lists.filter((list) => list.host === host);
  if (written === undefined || now - written.writtenAt >= hourMs) return true;
  if (written.configuredCount !== configuredCount) return true;
  return [...addresses.keys()].some((id) => !written.addresses.has(id));
}

/** As a master keeps it. */
export function textOfList({ configuredCount, addresses }: MasterList): string {
  const entries = [...addresses].map(([id, address]) => [id, address.slice(0, 200)]);
  const textOf = (count: number) =>
    JSON.stringify([configuredCount, Object.fromEntries(entries.slice(0, count))]);
  let count = entries.length;
  while (textOf(count).length > mostTextChars) count -= 1;
  return textOf(count);
}

/** The reply of scripts/server.lua, which came at `repliedAt`; null: it tells of no lists. */
export function parseLists(reply: unknown, repliedAt: number): readonly UsedList[] | null {
  if (!Array.isArray(reply) || reply.length > mostLists) return null;
  return reply.flatMap((entry: unknown) => {
    const [host, forMs, text]: unknown[] = Array.isArray(entry) ? entry : [];
    if (typeof host !== 'string' || host === '' || host.length > mostHostChars) return [];
    if (typeof forMs !== 'number' || typeof text !== 'string') return [];
    const list = parseList(text);
    return list === null ? [] : [{ host, writtenAt: repliedAt - Math.max(0, forMs), ...list }];
  });
}

function parseList(text: string): MasterList | null {
  if (text.length > mostTextChars) return null;
  try {
    const [configuredCount, addresses]: unknown[] = JSON.parse(text);
    if (!Number.isSafeInteger(configuredCount) || Number(configuredCount) < 1) return null;
    if (typeof addresses !== 'object' || addresses === null) return null;
    const known = Object.entries(addresses).map(([id, address]) => [id, String(address)] as const);
    if (known.length > Number(configuredCount)) return null;
    return { configuredCount: Number(configuredCount), addresses: new Map(known) };
  } catch {
    return null;
  }
}

const shownAddresses = 3;

/** `could grant a lock beside web1's: it has 10.0.0.4:6379 too` */
function differenceText({ host, added, missing }: Omit<ListDifference, 'master'>): string {
  const shown = (addresses: readonly string[]) => {
    const rest = addresses.length - shownAddresses;
    const some = addresses.slice(0, shownAddresses).map((address) => printable(address));
    return some.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
  };
  const parts = [
    ...(added.length > 0 ? [`has ${shown(added)} too`] : []),
    ...(missing.length > 0 ? [`does not have ${shown(missing)}`] : []),
  ];
  const difference = parts.join(' and ') || 'has another number of masters';
  return `could grant a lock beside ${printable(host)}'s: it ${difference}`;
}

const advice = 'give all hosts the same masters, or change one at a time';

/** What may come of it, and what to do. */
export const differenceAdvice = { why: 'two hosts could hold one lock at the same time', advice };

/** One line about it. */
export function differenceLine(difference: Omit<ListDifference, 'master'>): string {
  return `this host's masters ${differenceText(difference)} (${advice})`;
}

/** The difference as the failure of the master that told of it, which ends a new run. */
export function differenceFailure(difference: ListDifference): Failed {
  return failed('misconfigured', `this host's masters ${differenceText(difference)}`, advice);
}

/** A connection to a master as far as lists of masters matter. */
interface ListedConnection {
  readonly isOpen: boolean;
  eval(call: ScriptCall): Promise<unknown>;
}

/** The masters of one program: compared with the lists of other hosts, and told to the masters. */
export class OwnList {
  readonly host: string;
  readonly #masterCount: number;
  readonly #key: string;
  /** What each master has told, on which connection. */
  readonly #told = new Map<string, SeenLists & { readonly connection: ListedConnection }>();
  /** What was written last, by master. */
  readonly #written = new Map<string, UsedList>();

  /** `masterCount`: of all masters that are configured. */
  constructor(host: string, masterCount: number, prefix: string) {
    this.host = host;
    this.#masterCount = masterCount;
    this.#key = markKeyOf(prefix);
  }

  /** A master has told its mark and the reply of scripts/server.lua. */
  tell(
    name: string,
    connection: ListedConnection,
    { mark, repliedAt }: Pick<ServerIdentity, 'mark' | 'repliedAt'>,
    reply: unknown,
  ): void {
    const lists = parseLists(reply, repliedAt);
    this.#told.delete(name);
    const { id, since } = mark ?? { id: null, since: 0 };
    if (id === null || lists === null) return;
    this.#told.set(name, { name, connection, mark: { id, since }, lists });
  }

  /** How a list that was used lately differs dangerously, as far as is known; null: none does. */
  differenceAt(now: number): ListDifference | null {
    return differenceIn(this.#seen(), this.#masterCount, now);
  }

  /** Tells the masters that are connected our list, where that is due. Waits for nothing. */
  write(now: number): void {
    const seen = this.#seen();
    const list = listOf(seen, this.#masterCount);
    for (const { name, connection, lists } of seen) {
      const written = this.#written.get(name);
      if (!isNewTo(written ? [written] : lists, this.host, list, now)) continue;
      this.#written.set(name, { ...list, host: this.host, writtenAt: now });
      const args = { host: this.host, list: textOfList(list) };
      void connection.eval(toServer('lists', this.#key, args));
    }
  }

  #seen() {
    return [...this.#told.values()].filter(({ connection }) => connection.isOpen);
  }
}
