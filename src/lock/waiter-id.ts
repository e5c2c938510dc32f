// The ids under which the masters send messages to clients: those of waiters, which describe them
// to the scripts and to operators, and those of holders.

import type { Claim } from './types.ts';
import { cut, type HolderRecord } from './value.ts';

/**
 * What the scripts need to know of a waiter. shared: it wants a shared lock. supersede: a newer
 * waiter of that trait takes its position. replace: it has holders of that setting replaced.
 */
export type Trait = 'shared' | 'supersede' | 'replace';

const allTraits: readonly Trait[] = ['shared', 'supersede', 'replace'];

/** A process that waits, as its id describes it; null: unknown. */
export interface WaitingProcess {
  readonly pid: number;
  readonly host: string;
  readonly user: string | null;
  /** The command's base name, or its --label. */
  readonly label: string | null;
  /** The beginning of its --note; null: none. */
  readonly note: string | null;
}

/**
 * The end of a waiter's id: `<pid>@<host>/<user>/<label>`, and `/<note>` where there is one.
 * redlockctl reads ids of 200 characters.
 */
export function whoOf({ host, pid, user, label, note }: Omit<HolderRecord, 'since'>): string {
  const name = cut(label.replaceAll('/', '-'), 40);
  return `${pid}@${cut(host, 64)}/${cut(user, 32)}/${name}${note ? `/${note}` : ''}`;
}

/** The process that waits under this id; null: the id does not contain it. */
export function waitingProcess(id: string): WaitingProcess | null {
  const form = /^(\d{1,10})@([^/]*)(?:\/([^/]*)\/([^/]*)(?:\/(.*))?)?$/s;
  const match = form.exec(parseWaiterId(id).who ?? '');
  if (match === null) return null;
  const [, pid, host = '', user = null, label = null, note = null] = match;
  return { pid: Number(pid), host, user, label, note };
}

/** `<traits>:<random>:<process>`: see whoOf. `random` makes the id unique and has no colon. */
export function waiterIdOf(
  { sharing, preemptible }: Pick<Claim, 'sharing' | 'preemptible'>,
  random: string,
  who: string,
): string {
  const traits: Trait[] = [];
  if (sharing.kind === 'shared') traits.push('shared');
  if (preemptible !== 'never') traits.push('supersede');
  if (preemptible === 'replace') traits.push('replace');
  return `${traits.join()}:${random}:${who}`;
}

/** `who`: see whoOf; null: unknown. */
export function parseWaiterId(id: string): { traits: readonly Trait[]; who: string | null } {
  const [traits = '', , ...rest] = id.split(':');
  if (rest.length === 0) return { traits: [], who: null };
  const given = traits.split(',');
  return { traits: allTraits.filter((trait) => given.includes(trait)), who: rest.join(':') };
}

/** The id under which a holder is woken by a waiter that is to replace it. */
export function holderIdOf(token: string): string {
  return `holder:${token}`;
}

/** The id under which a holder daemon is woken when another process releases its lock by token. */
export function keeperIdOf(token: string): string {
  return `keeper:${token}`;
}

/** The id under which a holder receives the requests of people: see people.ts. */
export function askedIdOf(token: string): string {
  return `asked:${token}`;
}
