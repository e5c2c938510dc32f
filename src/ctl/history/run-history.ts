// The runs of some locks, put together from the histories on all masters: each run once, in the
// order in which they began. Pure. --json prints them, so their shape is a promise. Times are by
// the masters' clocks: the median of those that have the line.

import {
  type ActKind,
  blockerOf,
  noFacts,
  parseAct,
  parseRun,
  type RunEntry,
  vanished,
} from '../../lock/history.ts';
import type { Person } from '../../lock/people.ts';
import { median, quorumOf } from '../../lock/quorum.ts';
import type { SeenHistory } from '../../redis/snapshot.ts';
import { iso } from '../../text/time.ts';
import { breakLabel, type LockState, type ShownRecord, shownRecord } from '../lock-state.ts';

/** The holder for which a run was refused the lock. */
export interface PastHolder extends ShownRecord {
  /** `redlock-run`, or another program's `string`, of which `token` is the beginning. */
  readonly kind: string;
  readonly token: string;
}

/**
 * An entry with its times, as ISO 8601. The outcome is also `running` for a present holder, and
 * `vanished` for a run that has begun, whose lock is gone, and of whose end no master knows.
 */
export interface PastRun extends Omit<RunEntry, 'waitMs' | 'status' | 'blocker'> {
  readonly name: string;
  readonly beganAt: string;
  /** null: it did not acquire the lock, or did not start its command. */
  readonly acquiredAt: string | null;
  /** null: it is running, or it has vanished. */
  readonly endedAt: string | null;
  /** null: it is running, and its waiting time is unknown. */
  readonly waitMs: number | null;
  /** null: it is running, or it has vanished. */
  readonly status: number | null;
  readonly blocker: PastHolder | null;
  /**
   * 1; of the runs of a host that were refused and did not wait, which have one entry, how many
   * there were. The other fields are of the last one.
   */
  readonly count: number;
  /** When the first of those was refused; null: this is one run. */
  readonly firstAt: string | null;
  /** How many masters have its entry. */
  readonly masters: number;
}

/** Of one run, as opposed to several of a host that were refused. */
const once = { count: 1, firstAt: null };

/** What an operator did to a lock. */
export interface PastAct extends Person {
  readonly name: string;
  /** `stop`, `break`, `freeze`, `thaw`. */
  readonly act: ActKind;
  /** ISO 8601. */
  readonly at: string;
  /** The token of the holder, or of the freeze, that it was done to. */
  readonly token: string;
  /** How many masters have its entry. */
  readonly masters: number;
}

/** An entry, and when each master that has it received it. */
interface Kept<Entry> {
  readonly entry: Entry;
  readonly takenAtMs: number[];
}

/**
 * The entries in the histories of all masters, each once. It may have been written twice to a
 * master; the first time counts.
 */
function entriesIn<Entry>(
  histories: readonly SeenHistory[],
  parse: (line: string) => Entry | null,
  idOf: (entry: Entry) => string,
): Kept<Entry>[] {
  const all = new Map<string, Kept<Entry>>();
  for (const { lines } of histories) {
    const ids = new Set<string>();
    for (const { line, takenAtMs } of [...lines].sort((a, b) => a.takenAtMs - b.takenAtMs)) {
      const entry = parse(line);
      if (entry === null || ids.has(idOf(entry))) continue;
      ids.add(idOf(entry));
      const kept = all.get(idOf(entry)) ?? { entry, takenAtMs: [] };
      kept.takenAtMs.push(takenAtMs);
      all.set(idOf(entry), kept);
    }
  }
  return [...all.values()];
}

/** In the order of time. `histories`: of each master. */
export function pastActsOf(name: string, histories: readonly SeenHistory[]): PastAct[] {
  return entriesIn(histories, parseAct, ({ id }) => id)
    .map(({ entry: { kind, by, token }, takenAtMs }) => {
      const at = iso(median(takenAtMs));
      return { name, act: kind, at, ...by, token, masters: takenAtMs.length };
    })
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** In the order in which they began. `histories`: of each master. */
export function pastRunsOf(name: string, histories: readonly SeenHistory[]): PastRun[] {
  const past = entriesIn(histories, parseRun, ({ token }) => token).map((kept) =>
    pastRunOf(name, kept.entry, kept.takenAtMs),
  );
  return inOrder([...past, ...skippedRunsOf(name, histories)]);
}

/**
 * One for each host whose runs were refused and did not wait. The count is what most masters have:
 * one of them may have refused a run that others granted.
 */
function skippedRunsOf(name: string, histories: readonly SeenHistory[]): PastRun[] {
  const skips = histories.flatMap((history) =>
    history.skips.flatMap((skip) => {
      const run = parseRun(skip.line);
      return run ? [{ ...skip, run: { ...run, blocker: blockerOf(skip.holder) } }] : [];
    }),
  );
  return [...new Set(skips.map(({ run }) => run.host))].flatMap((host) => {
    const ofHost = skips.filter(({ run }) => run.host === host);
    const missing = Array.from({ length: histories.length - ofHost.length }, () => 0);
    const count = median([...ofHost.map((skip) => skip.count), ...missing]);
    const last = ofHost.reduce((one, other) => (other.lastAtMs > one.lastAtMs ? other : one));
    if (count === 0) return [];
    const times = ofHost.map(({ lastAtMs }) => lastAtMs);
    const firstAt = iso(median(ofHost.map(({ firstAtMs }) => firstAtMs)));
    return [{ ...pastRunOf(name, last.run, times), count, firstAt }];
  });
}

/**
 * The runs that a quorum of masters has seen begin, of whose end no master knows, and which none
 * shows as a holder: they were killed, their host died, or they were cut off at their release. Less
 * proves nothing: one master may have missed a rollback or an end. `held`: the tokens of all
 * holders, also of one that a single master shows.
 */
export function vanishedRunsOf(
  name: string,
  histories: readonly SeenHistory[],
  held: ReadonlySet<string>,
): PastRun[] {
  const lines = histories.flatMap((history) => history.lines.flatMap(({ line }) => line));
  const ended = new Set(lines.map((line) => parseRun(line)?.token));
  const starts = histories.flatMap((history) => history.starts);
  return [...new Set(starts.map(({ token }) => token))].flatMap((token) => {
    const own = starts.filter((start) => start.token === token);
    const start = parseRun(own[0]?.line ?? '');
    const isKnown = own.length >= quorumOf(histories.length) && start?.token === token;
    if (!isKnown || ended.has(token) || held.has(token)) return [];
    const run = pastRunOf(
      name,
      start,
      own.map(({ takenAtMs }) => takenAtMs),
    );
    return [{ ...run, outcome: vanished, acquiredAt: run.endedAt, endedAt: null, status: null }];
  });
}

/** The present holders as runs, but those that are in `runs` already. */
export function presentRunsOf(
  { name, state, holders, quorum, fence }: LockState,
  runs: readonly PastRun[],
  nowMs: number,
): PastRun[] {
  if (state !== 'held') return [];
  const known = new Set(runs.map(({ token }) => token));
  // The others are what a minority shows.
  const present = holders.filter(({ votes }) => votes >= quorum);
  return present.flatMap((holder, at) => {
    const { token, host, pid, user, label, note, url, since, votes, endedAt } = holder;
    const sinceMs = Date.parse(since ?? '');
    const isRunning = endedAt === null && label !== breakLabel && !Number.isNaN(sinceMs);
    if (!token || !isRunning || known.has(token)) return [];
    const self = { token, host: host ?? '', pid: pid ?? 0, user: user ?? '', label: label ?? '' };
    const end = { outcome: 'running', endedAt: null, status: null };
    const heldMs = Math.max(0, nowMs - sinceMs);
    const times = { beganAt: iso(sinceMs), acquiredAt: iso(sinceMs), waitMs: null, heldMs };
    const ofFirst = at === 0 ? fence : null;
    const run = { ...noFacts, ...self, note, url, ...times, ...end, fence: ofFirst };
    return { name, ...run, ...once, masters: votes };
  });
}

/** Ordered by when they began to try: the time at which cron has started them. */
export function inOrder(runs: readonly PastRun[]): PastRun[] {
  return [...runs].sort((a, b) => startOf(a) - startOf(b) || endOf(a) - endOf(b));
}

/**
 * In ms since 1970; infinite for a run that has not ended. Of one that vanished only the beginning
 * is known.
 */
export function endOf({ endedAt, outcome, acquiredAt }: PastRun): number {
  const at = outcome === vanished ? acquiredAt : endedAt;
  return at === null ? Number.POSITIVE_INFINITY : Date.parse(at);
}

export function startOf({ beganAt }: PastRun): number {
  return Date.parse(beganAt);
}

function pastRunOf(name: string, run: RunEntry, takenAtMs: readonly number[]): PastRun {
  const { waitMs, heldMs, blocker } = run;
  const endedMs = median(takenAtMs);
  const acquiredMs = endedMs - (heldMs ?? 0);
  return {
    name,
    ...run,
    beganAt: iso(acquiredMs - waitMs),
    acquiredAt: heldMs === null ? null : iso(acquiredMs),
    endedAt: iso(endedMs),
    blocker: blocker && {
      kind: blocker.record === null ? 'string' : 'redlock-run',
      token: blocker.token,
      ...shownRecord(blocker.record),
    },
    ...once,
    masters: takenAtMs.length,
  };
}
