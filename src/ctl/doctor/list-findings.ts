// What the masters tell of lists of masters that hosts have used (redis/master-lists.ts): one
// finding for each list of the last week, with its hosts, and a warning where a run would warn.
// Pure.

import type { Failed } from '../../lock/types.ts';
import { isFailed } from '../../redis/errors.ts';
import {
  couldBothGrant,
  differenceAdvice,
  listOf,
  listsThatCount,
  type MasterList,
  type SeenLists,
  type UsedList,
} from '../../redis/master-lists.ts';
import { printable } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import { plural } from '../../text/plural.ts';
import type { MasterFacts } from './facts.ts';
import type { Assessment, Finding } from './findings.ts';

export const listsCheck = 'lists';

const weekMs = 7 * 24 * 60 * 60 * 1000;
const mostHosts = 5;

/** `isCompared`: whether runs compare lists here. `now`: by the clock of the facts. */
export function listFindings(
  facts: readonly (MasterFacts | Failed)[],
  isCompared: boolean,
  now: number,
): Finding[] {
  return assessments(facts, isCompared, now).map((assessment) => ({
    check: listsCheck,
    master: null,
    ...assessment,
  }));
}

function assessments(
  facts: readonly (MasterFacts | Failed)[],
  isCompared: boolean,
  now: number,
): Assessment[] {
  const fine = (message: string): Assessment => ({ grade: 'ok', message, why: null, fix: null });
  if (!isCompared) return [fine('lists of masters are not compared here')];
  const seen = facts.flatMap((fact) => seenOn(fact));
  const isHidden = facts.some((fact) => !isFailed(fact) && !isUnmarked(fact));
  if (seen.length === 0 && isHidden) {
    const message = 'no master tells which lists of masters are in use';
    const why = differenceAdvice.why;
    return [{ grade: 'unknown', message, why, fix: 'redlockctl acl prints the rules' }];
  }
  const ours = listOf(seen, facts.length);
  const counting = new Set(
    listsThatCount(seen, facts.length, now).map(({ host, writtenAt }) => host + writtenAt),
  );
  const groups = groupsOf(seen, now);
  if (groups.length === 0) return [fine('no host has told which masters it uses')];
  return groups.map(([first, ...others]): Assessment => {
    const lists = [first, ...others];
    const who = hostsText(lists, now);
    if (isSame(ours, first)) return fine(`these masters are those of ${who}`);
    const message = `${who} ${lists.length === 1 ? 'has' : 'have'} ${listText(first)}`;
    const isDanger = lists.some(
      (list) => counting.has(list.host + list.writtenAt) && couldBothGrant(ours, list),
    );
    const { why, advice: fix } = differenceAdvice;
    return isDanger ? { grade: 'warning', message, why, fix } : fine(message);
  });
}

/** It has no mark yet, and so no lists. */
function isUnmarked({ mark }: MasterFacts): boolean {
  return mark !== null && mark.id === null;
}

function seenOn(fact: MasterFacts | Failed): SeenLists[] {
  if (isFailed(fact) || !fact.mark || fact.lists === null) return [];
  const { id, since } = fact.mark;
  if (id === null || since === null) return [];
  return [{ name: fact.address.name, mark: { id, since }, lists: fact.lists }];
}

/** The youngest list of each host, those that are the same together; ours or the youngest first. */
function groupsOf(seen: readonly SeenLists[], now: number): [UsedList, ...UsedList[]][] {
  const youngest = new Map<string, UsedList>();
  for (const list of seen.flatMap(({ lists }) => lists)) {
    if (now - list.writtenAt > weekMs) continue;
    const known = youngest.get(list.host);
    if (known === undefined || known.writtenAt < list.writtenAt) youngest.set(list.host, list);
  }
  const groups: [UsedList, ...UsedList[]][] = [];
  for (const list of [...youngest.values()].sort((a, b) => b.writtenAt - a.writtenAt)) {
    const group = groups.find(([first]) => isSame(first, list));
    if (group) group.push(list);
    else groups.push([list]);
  }
  return groups;
}

function isSame(one: MasterList, other: MasterList): boolean {
  const ids = (list: MasterList) => [...list.addresses.keys()].sort().join();
  return one.configuredCount === other.configuredCount && ids(one) === ids(other);
}

/** `web1, web2 (3h ago)` */
function hostsText(lists: readonly UsedList[], now: number): string {
  const rest = lists.length - mostHosts;
  const some = lists
    .slice(0, mostHosts)
    .map(({ host, writtenAt }) => `${printable(host)} (${roughly(now - writtenAt)} ago)`);
  return some.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

/** `3 masters: 10.0.0.1:6379, 10.0.0.4:6379 and one that was not reached` */
function listText({ configuredCount, addresses }: MasterList): string {
  const shown = [...addresses.values()].map((address) => printable(address)).join(', ');
  const unreached = configuredCount - addresses.size;
  const rest = unreached > 0 ? ` (${unreached} not reached)` : '';
  return `${plural(configuredCount, 'master')}: ${shown}${rest}`;
}
