// The rules between the options of redlock-run, redlockctl and the library: limits, contradictions,
// and timings with which a lock cannot be held safely. Each has one text.

import { dangerOf, type LockTimings, type RunTimings } from '../lock/timings.ts';

/** A lock of a holder that has crashed is held for up to its ttl: a day. */
export const maxTtlMs = 86_400_000;
export const maxSlotCount = 1000;

/** What an option asks for, where other options may contradict it. */
type Demand =
  | 'names'
  | 'slots'
  | 'shared'
  | 'supersede'
  | 'replace'
  | 'isolate'
  | 'keepBackground'
  | 'wait'
  | 'retryCount'
  | 'setnx'
  | 'setnx-ms';

type Rule = readonly [Demand, Demand, why: string];

const contradictions: readonly Rule[] = [
  ['retryCount', 'wait', 'contradict each other'],
  ['slots', 'names', 'slots are for one name'],
  ['slots', 'shared', 'a shared lock has no limit of holders'],
  ['isolate', 'keepBackground', 'nothing outlives its namespace'],
  ...(['setnx', 'setnx-ms'] as const).flatMap((protocol) =>
    (['names', 'shared', 'supersede', 'replace', 'slots'] as const).map(
      (form): Rule => [protocol, form, `${protocol} has one lock at a time, held exclusively`],
    ),
  ),
];

/** The first two of these that contradict each other, and why; null: none do. */
export function contradictionIn(demands: Readonly<Partial<Record<Demand, boolean>>>): Rule | null {
  const found = contradictions.find(([one, other]) => demands[one] && demands[other]);
  if (found === undefined) return null;
  const [one, other, why] = found;
  return [one, other, `${why} (leave one out)`];
}

/**
 * Why a lock cannot be held safely with these timings, and what to do; null: it can. `shown`: the
 * options that they follow from, as texts; the first is the ttl. `isExtended`: see dangerOf.
 */
export function timingMistake(
  timings: LockTimings | RunTimings,
  isExtended: boolean,
  shown: Readonly<Record<string, string>>,
): string | null {
  const danger = dangerOf(timings, isExtended);
  if (danger === null) return null;
  const [ttl, ...others] = Object.keys(shown);
  const values = Object.entries(shown).map(([option, text]) => `${option} ${text}`);
  return `${values.join(', ')}: ${danger} (raise ${ttl}, or lower ${others.join(' or ')})`;
}
