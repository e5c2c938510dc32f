// The freezes of all locks, as the masters show them: a freeze that too few show bars no run. What
// a restarted master has forgotten is set again with --repair-freezes, where the history says that
// the freeze was set, and not thawed.

import { parseFreeze } from '../../lock/freeze.ts';
import { quorumOf } from '../../lock/quorum.ts';
import { parseValue } from '../../lock/value.ts';
import { isFailed } from '../../redis/errors.ts';
import type { SeenFreeze } from '../../redis/snapshot.ts';
import { quoted } from '../../text/foreign-text.ts';
import { holderLine } from '../../text/lines.ts';
import { type PastAct, pastActsOf } from '../history/run-history.ts';
import { allLines, type MasterQuery } from '../master-query.ts';
import { asArgument } from '../names.ts';
import { addToHistory } from '../people/person.ts';
import type { Finding } from './findings.ts';

/** By master, its freeze; null: none; undefined: it does not answer. */
type Seen = readonly (SeenFreeze | null | undefined)[];

/**
 * Findings about frozen locks; none where nothing is frozen. `repair`: sets what is missing, and
 * removes what is left of a thawed freeze; it is given the line for the history.
 */
export async function freezeFindings(
  query: MasterQuery,
  timeoutMs: number,
  repair: ((token: string) => string) | null,
): Promise<Finding[]> {
  query.reset();
  const names = await query.frozenNames('*');
  const findings: Finding[] = [];
  for (const name of names) {
    const [lines = []] = await query.histories([name], allLines);
    const acts = pastActsOf(name, lines);
    const before = judged(name, await seenOn(query, name), acts);
    const cure = repair === null ? null : before.cure;
    if (cure !== null && repair !== null) await carryOut(query, name, cure, timeoutMs, repair);
    findings.push(
      cure === null ? before.finding : judged(name, await seenOn(query, name), acts).finding,
    );
  }
  return findings;
}

/** What --repair-freezes would do. */
interface Cure {
  readonly kind: 'set' | 'remove';
  readonly freeze: SeenFreeze;
  /** Where it is missing. */
  readonly missing: readonly number[];
}

interface Judgement {
  readonly finding: Finding;
  /** null: nothing is to be done, or nothing can be without a person. */
  readonly cure: Cure | null;
}

/** The name of its check. */
export const freezesCheck = 'freezes';

/** Pure. */
function judged(name: string, seen: Seen, acts: readonly PastAct[]): Judgement {
  const quorum = quorumOf(seen.length);
  const found = seen.filter((one) => one !== null && one !== undefined);
  const values = [...new Set(found.map(({ value }) => value))];
  const [freeze] = found;
  const finding = (grade: Finding['grade'], message: string, why?: string, fix?: string) =>
    ({
      check: freezesCheck,
      grade,
      master: null,
      message: `${quoted(name)}: ${message}`,
      why: why ?? null,
      fix: fix ?? null,
    }) satisfies Finding;
  if (freeze === undefined) return { finding: finding('ok', 'not frozen any more'), cure: null };
  const again = `redlockctl thaw ${asArgument(name)}, and freeze it again if that is wanted`;
  if (values.length > 1) {
    const why = 'masters that forgot one freeze have got another';
    return {
      finding: finding('error', `${values.length} different freezes`, why, again),
      cure: null,
    };
  }
  const votes = `on ${found.length} of ${seen.length} masters`;
  const what = `${holderLine(freeze.value, freeze.remainingMs, 1)}; ${votes}`;
  const missing = [...seen.keys()].filter((at) => seen[at] === null);
  if (missing.length === 0) return { finding: finding('ok', what), cure: null };
  const { token } = parseValue(freeze.value);
  const did = (act: PastAct['act']) => acts.some((one) => one.act === act && one.token === token);
  const isMinority = found.length < quorum;
  if (did('thaw') && isMinority) {
    const why = 'it was thawed when this master did not answer, and bars no run';
    const fix = 'redlockctl doctor --repair-freezes removes it';
    const cure: Cure = { kind: 'remove', freeze, missing };
    return { finding: finding('warning', `what is left of a freeze: ${what}`, why, fix), cure };
  }
  if (did('thaw')) {
    const why = 'a thaw has reached too few masters';
    return {
      finding: finding('warning', what, why, `redlockctl thaw ${asArgument(name)}`),
      cure: null,
    };
  }
  if (parseFreeze(freeze.value) === null || (isMinority && !did('freeze'))) {
    const why =
      'the history does not say that it ever stood on a quorum: it may be left of a failed freeze';
    return { finding: finding('error', `bars no run: ${what}`, why, again), cure: null };
  }
  const fix = 'redlockctl doctor --repair-freezes sets it where it is missing';
  const why = isMinority
    ? 'masters have forgotten it: runs start although a person has frozen it'
    : 'a master has forgotten it, and it bars runs only as long as the others remember';
  const cure: Cure = { kind: 'set', freeze, missing };
  const grade = isMinority ? 'error' : 'warning';
  return { finding: finding(grade, isMinority ? `bars no run: ${what}` : what, why, fix), cure };
}

async function seenOn(query: MasterQuery, name: string): Promise<Seen> {
  query.reset();
  const answers = await query.ask((server) => server.look([name]));
  return answers.map((answer) => (isFailed(answer) ? undefined : (answer[0]?.freeze ?? null)));
}

/**
 * A thaw that comes in between wins: where the freeze was, it is looked for again when every
 * request of such a thaw has been answered, and what was set is removed if it has gone there.
 */
async function carryOut(
  query: MasterQuery,
  name: string,
  { kind, freeze: { value, remainingMs }, missing }: Cure,
  timeoutMs: number,
  lineFor: (token: string) => string,
): Promise<void> {
  if (kind === 'remove') {
    await query.ask((master) => master.thaw(name, value, ''));
    return;
  }
  const isMissing = (server: unknown) => missing.some((at) => query.servers[at] === server);
  await query.ask(async (server) =>
    isMissing(server)
      ? server.freeze(name, value, remainingMs ?? 0)
      : ({ kind: 'frozen' } as const),
  );
  await query.clock.sleep(timeoutMs);
  const now = await seenOn(query, name);
  const isThawed = now.some((one, at) => !missing.includes(at) && one === null);
  query.reset();
  if (isThawed) await query.ask((master) => master.thaw(name, value, ''));
  else await addToHistory(query, name, lineFor(parseValue(value).token));
}
