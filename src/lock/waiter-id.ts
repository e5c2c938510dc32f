// What a waiter is called in the queues of the masters: `<traits>:<random>:<pid>@<host>`. The scripts read the traits, people the
// rest. Pure. The surprise: other programs may queue under ids of another make, so parsing never fails; those have no traits.

import type { Claim } from './ports.ts';

/** shared: may stand beside others who share. newest: gives his place to a newer one of that trait; replace: asks holders to give up. */
export type Trait = 'shared' | 'newest' | 'replace';

export interface WaiterName {
  readonly traits: readonly Trait[];
  /** `<pid>@<host>`, for people; null: it does not say. */
  readonly who: string | null;
}

const known: readonly string[] = ['shared', 'newest', 'replace'] satisfies Trait[];

/** `random` keeps waiters apart, and holds no colon. */
export function waiterIdOf(
  { sharing, yields }: Pick<Claim, 'sharing' | 'yields'>,
  random: string,
  who: string,
): string {
  const traits: Trait[] = [];
  if (sharing.kind === 'shared') traits.push('shared');
  if (yields !== 'never') traits.push('newest');
  if (yields === 'lock') traits.push('replace');
  return `${traits.join()}:${random}:${who}`;
}

export function parseWaiterId(id: string): WaiterName {
  const [traits = '', , ...who] = id.split(':');
  if (who.length === 0) return { traits: [], who: null };
  return { traits: traits.split(',').filter((trait): trait is Trait => known.includes(trait)), who: who.join(':') };
}

/** What a holder listens for, to be told that somebody wants what he holds. */
export function holderIdOf(token: string): string {
  return `holder:${token}`;
}

/** What a holder listens for who holds it for somebody else, to be told that it has been given back by its token. */
export function keeperIdOf(token: string): string {
  return `keeper:${token}`;
}
