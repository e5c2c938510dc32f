// The sets of masters that hosts have recorded (redis/masters-watch.ts): one finding for each, with
// the host that used it last, and a warning where a run would warn. Pure.

import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import type { UsedSet } from '../../redis/identity.ts';
import {
  dangerousSets,
  differenceAdvice,
  differenceFrom,
  idsOf,
  type MarkedMasters,
} from '../../redis/masters-watch.ts';
import { printable } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import { plural } from '../../text/plural.ts';
import type { MasterFacts } from './facts.ts';
import type { Assessment, Finding } from './findings.ts';

export const listsCheck = 'lists';

/** `isCompared`: whether runs compare sets here. `now`: by the clock of the facts. */
export function listFindings(
  facts: readonly (MasterFacts | Failed)[],
  isCompared: boolean,
  now: number,
): Finding[] {
  const found = isCompared
    ? assessments(facts, now)
    : [fine('lists of masters are not compared here')];
  return found.map((assessment) => ({ check: listsCheck, master: null, ...assessment }));
}

const fine = (message: string): Assessment => ({ grade: 'ok', message, why: null, fix: null });

function assessments(facts: readonly (MasterFacts | Failed)[], now: number): Assessment[] {
  const { why, advice: fix } = differenceAdvice;
  const known = facts.flatMap((fact) => (isFailed(fact) ? [] : fact));
  if (known.some(({ mark }) => mark === null)) {
    const message = 'not every master shows which lists of masters are in use';
    return [{ grade: 'unknown', message, why, fix: 'redlockctl acl prints the rules' }];
  }
  const masters = known.flatMap(({ address: { name }, mark }): MarkedMasters => {
    return mark?.id && mark.since !== null ? [{ name, mark: { ...mark, since: mark.since } }] : [];
  });
  if (masters.length < facts.length)
    return [fine('lists of masters are not compared until every master has a mark and answers')];
  const dangerous = new Set(dangerousSets(masters, now).map(({ ids }) => ids.join()));
  const found = lastUsed(masters).map((set): Assessment => {
    const who = `${printable(set.host)} (${roughly(now - set.usedAt)} ago)`;
    const ids = set.ids.join();
    if (ids === idsOf(masters).join()) return fine(`these masters are those of ${who}`);
    const message = `${who} has ${setText(set, masters)}`;
    return dangerous.has(ids) ? { grade: 'warning', message, why, fix } : fine(message);
  });
  return found.length > 0 ? found : [fine('no host has recorded which masters it uses')];
}

/** Each set once, as it was used last; the last used first. */
function lastUsed(masters: MarkedMasters): UsedSet[] {
  const sets = masters.flatMap(({ mark }) => mark.sets).sort((a, b) => a.usedAt - b.usedAt);
  return [...new Map(sets.map((set) => [set.ids.join(), set])).values()].reverse();
}

/** `3 masters: 10.0.0.1:6379 and 2 that are not configured here` */
function setText(set: UsedSet, masters: MarkedMasters): string {
  const shared = masters.filter(({ mark }) => set.ids.includes(mark.id ?? ''));
  const { otherCount } = differenceFrom(set, masters);
  const names = shared.map(({ name }) => printable(name)).join(', ');
  const others = otherCount > 0 ? ` and ${otherCount} that are not configured here` : '';
  return `${plural(set.ids.length, 'master')}: ${names}${others}`;
}
