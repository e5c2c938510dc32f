// Freezes that are not on all masters: one that too few of them show bars no run. Whether it was
// thawed, and a master missed that, is in the history of the lock.

import { quorumOf } from '../../lock/quorum.ts';
import { isFailed } from '../../redis/errors.ts';
import type { SeenHistory } from '../../redis/snapshot.ts';
import { quoted } from '../../text/foreign-text.ts';
import { pastActsOf } from '../history/run-history.ts';
import { describeFreeze, shownFreezeOf } from '../holdings.ts';
import type { MasterReport } from '../lock-state.ts';
import { allLines, type MasterQuery } from '../master-query.ts';
import { asArgument } from '../names.ts';
import type { Finding } from './findings.ts';

/** The name of its check. */
export const freezesCheck = 'freezes';

/** One finding for each frozen lock. */
export async function freezeFindings(query: MasterQuery): Promise<Finding[]> {
  query.reset();
  const names = await query.frozenNames('*');
  const reports = await query.reports(names);
  const histories = await query.histories(names, allLines);
  return names.flatMap((name, at) => findingOf(name, reports[at] ?? [], histories[at] ?? []) ?? []);
}

/** Pure. null: the lock is not frozen any more. */
function findingOf(
  name: string,
  reports: readonly MasterReport[],
  histories: readonly SeenHistory[],
): Finding | null {
  const seen = reports.flatMap(({ snapshot }) => (isFailed(snapshot) ? [] : [snapshot.freeze]));
  const freeze = shownFreezeOf(seen);
  if (freeze === null) return null;
  // A master refuses runs whichever freeze it shows.
  const count = seen.filter((one) => one !== null).length;
  const isBarred = count >= quorumOf(reports.length);
  const effect = isBarred ? '' : 'bars no run: ';
  const votes = `on ${freeze.votes} of ${reports.length} masters`;
  const message = `${quoted(name)}: ${effect}${describeFreeze(freeze)}; ${votes}`;
  const base = { check: freezesCheck, master: null, message };
  if (freeze.votes === seen.length) return { ...base, grade: 'ok', why: null, fix: null };
  const thaw = `redlockctl thaw ${asArgument(name)}`;
  const acts = pastActsOf(name, histories);
  if (acts.some(({ act, token }) => act === 'thaw' && token === freeze.token)) {
    const why = 'it was thawed, and these masters missed that';
    return { ...base, grade: 'warning', why, fix: thaw };
  }
  const why = isBarred
    ? 'a master forgot it, or shows another one: it bars runs only while the others remember'
    : 'masters forgot it, or it never was on a quorum: runs start although the lock was frozen';
  const fix = `${thaw} && redlockctl freeze ${asArgument(name)} --note WHY`;
  return { ...base, grade: isBarred ? 'warning' : 'error', why, fix };
}
