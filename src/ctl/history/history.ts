// `redlockctl history [NAME]`: past runs under a lock, as a table, as JSON and as a page. It
// changes nothing on the masters. A run has no line before it ends, so the present holders are
// added from the state of the lock, and one that has vanished from what it left when it began.

import { writeFile } from '../../config/output-file.ts';
import { kinds, readOption } from '../../config/values.ts';
import type { SeenHistory } from '../../redis/snapshot.ts';
import { exitCode } from '../../text/errors.ts';
import { jsonLine } from '../../text/foreign-text.ts';
import { plural } from '../../text/plural.ts';
import type { Call } from '../call.ts';
import type { LockState } from '../lock-state.ts';
import { allLines, MasterQuery, pageSize } from '../master-query.ts';
import { renderHtmlPage } from './page.ts';
import {
  endOf,
  inOrder,
  type PastAct,
  type PastRun,
  pastActsOf,
  pastRunsOf,
  presentRunsOf,
  startOf,
  vanishedRunsOf,
} from './run-history.ts';
import { historyRows, kindOf, renderHistory } from './run-text.ts';

/** How many runs are shown without --since. */
const defaultCount = 50;

export async function history({
  args,
  settings,
  clock,
  print,
  tell,
  columns,
}: Call): Promise<number> {
  const name = args.operands[0] ?? null;
  const since = args.textOf('--since');
  const nowMs = Date.now();
  const sinceMs = since === null ? null : nowMs - readOption('--since', since, kinds.span.parse);
  const query = await MasterQuery.of(settings, clock);
  // Without --since, those that changed last are enough.
  const written = name === null ? await query.historyNames(sinceMs) : [name];
  const present = name === null ? await query.namesOf('locks', '*') : [name];
  const maxLines = sinceMs === null && name === null ? defaultCount : allLines;
  const past = await readPast(query, written, present, maxLines, nowMs);
  const runs =
    sinceMs === null
      ? past.runs.slice(-defaultCount)
      : past.runs.filter((run) => endOf(run) >= sinceMs);
  const leftOut = sinceMs === null ? past.runs.length - runs.length : 0;
  // Operations of the same time as the runs.
  const fromMs = sinceMs ?? (leftOut === 0 ? 0 : Math.min(...runs.map(startOf)));
  const acts = past.acts.filter(({ at }) => Date.parse(at) >= fromMs);
  const isPart = name === null && sinceMs === null && written.length >= pageSize;
  const summary = summaryOf(runs, leftOut, isPart) + adviceOn(name, past);
  const { noQuorumLine } = query;
  for (const line of query.failureLines()) tell(line);
  const frozenBy = past.locks.flatMap(({ freeze }) => freeze?.token ?? []);
  const rows = historyRows(runs, acts, frozenBy);
  const file = args.textOf('--html');
  const error =
    file === null ? null : writeFile('--html', file, renderHtmlPage(rows, name, summary, nowMs));
  if (error !== null) tell(error);
  if (args.has('--json')) print(jsonLine({ name, runs, acts }));
  else if (file === null) {
    print(renderHistory(rows, name !== null, columns));
    tell((runs.length === 0 ? noQuorumLine : null) ?? summary);
  }
  if (error !== null) return exitCode.output;
  if (query.failures().some((failed) => failed?.cause === 'misconfigured')) return exitCode.config;
  return noQuorumLine === null ? exitCode.ok : exitCode.unreachable;
}

/** What the masters know of some locks. */
interface Past {
  readonly runs: readonly PastRun[];
  readonly acts: readonly PastAct[];
  readonly locks: readonly LockState[];
  /** By name, of each master. */
  readonly histories: ReadonlyMap<string, readonly SeenHistory[]>;
}

/** `written`: whose histories are read; `present`: the locks whose holder may have no entry yet. */
export async function readPast(
  query: MasterQuery,
  written: readonly string[],
  present: readonly string[],
  maxLines: number,
  nowMs: number,
): Promise<Past> {
  const read = await query.histories(written, maxLines);
  const histories = new Map(written.map((each, index) => [each, read[index] ?? []]));
  const past = new Map([...histories].map(([each, ofEach]) => [each, pastRunsOf(each, ofEach)]));
  const acts = [...histories].flatMap(([each, ofEach]) => pastActsOf(each, ofEach));
  const locks = await query.look(present);
  const running = locks.flatMap((lock) => presentRunsOf(lock, past.get(lock.name) ?? [], nowMs));
  const gone = await vanishedIn(query, histories, locks);
  return {
    runs: inOrder([...[...past.values()].flat(), ...gone, ...running]),
    acts,
    locks,
    histories,
  };
}

/**
 * The vanished runs of these locks. What was read before may be of different moments: a run that
 * began in between, or ended. So the locks of those that seem to have vanished are read again, and
 * their histories behind that: the script that frees a lock has written the line of its run.
 */
async function vanishedIn(
  query: MasterQuery,
  histories: ReadonlyMap<string, readonly SeenHistory[]>,
  locks: readonly LockState[],
): Promise<PastRun[]> {
  const seemsGone = ([name, ofName]: [string, readonly SeenHistory[]]) =>
    vanishedRunsOf(name, ofName, tokensIn(locks, name)).length > 0;
  const names = [...histories].filter(seemsGone).map(([name]) => name);
  if (names.length === 0) return [];
  const again = await query.look(names);
  const read = await query.histories(names, allLines);
  return names.flatMap((name, index) => {
    const before = vanishedRunsOf(name, histories.get(name) ?? [], tokensIn(again, name));
    const known = new Set(before.map(({ token }) => token));
    const now = vanishedRunsOf(name, read[index] ?? [], tokensIn(again, name));
    return now.filter(({ token }) => known.has(token));
  });
}

/** The tokens of all holders of a lock, also of one that a single master shows. */
function tokensIn(locks: readonly LockState[], name: string): ReadonlySet<string> {
  const ofName = locks.filter((lock) => lock.name === name);
  return new Set(ofName.flatMap(({ holders }) => holders.flatMap(({ token }) => token ?? [])));
}

/**
 * "50 runs, 2 did not happen; 12 older left out (say --since)". `isPart`: not all were counted.
 */
function summaryOf(runs: readonly PastRun[], leftOut: number, isPart: boolean): string {
  const sumOf = (some: readonly PastRun[]) => some.reduce((sum, { count }) => sum + count, 0);
  const missedCount = sumOf(runs.filter((run) => kindOf(run) === 'missed'));
  const runCount = sumOf(runs);
  const count = runCount === 0 ? 'no runs' : plural(runCount, 'run');
  const missed = missedCount === 0 ? '' : `, ${missedCount} did not happen`;
  const older = isPart ? `${leftOut} and more` : leftOut;
  return `${count}${missed}${leftOut > 0 ? `; ${older} older left out (say --since)` : ''}`;
}

/** A name of which nothing is known may be misspelt, or its run never had the lock. */
function adviceOn(name: string | null, { runs, acts, locks }: Past): string {
  const isKnown = runs.length + acts.length > 0 || locks.some(({ holders }) => holders.length > 0);
  const unseen = 'a run that ends with 69, 78, 126 or 127 may leave no line';
  return name === null || isKnown ? '' : ` (check the name; ${unseen})`;
}
