// What the masters show of one lock, put together: what holds it, whether it could be acquired now,
// what waits. Pure. This is the object that --json prints, so its shape is a promise. The state is
// what an attempt would be told at this moment, decided by the very function that decides attempts:
// "free" and "held" cannot disagree with redlock-run.

import { acquireVerdictOf, quorumOf } from '../lock/quorum.ts';
import type { AcquireReply, Failed, FailureCause, Sharing } from '../lock/types.ts';
import { isMark, parseValue } from '../lock/value.ts';
import { isCut, type LockSnapshot } from '../redis/snapshot.ts';
import { withBytesEscaped } from '../text/bytes.ts';

/**
 * free: a quorum is free. orphan: too, but a minority shows a value, which keeps nobody from the lock. held: a quorum shows one
 * value. split: no value has a quorum, and nobody can get one. unknown: too few masters can tell. unfit: a server in the list that
 * must not be there.
 */
export type State = 'free' | 'orphan' | 'held' | 'split' | 'unknown' | 'unfit';

export interface Holder {
  /** Whose: `redlock-run`, another program's `string`, or another type of key, such as `hash`. */
  readonly kind: string;
  /**
   * What --token takes; null for a key that is no string, and for a value that is too long to be
   * one of a lock.
   */
  readonly token: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly user: string | null;
  /** ISO 8601, by the holder's clock. */
  readonly since: string | null;
  /** The command's base name. */
  readonly label: string | null;
  /** Which of the slots, from 1 on; null: the lock has none. */
  readonly slot: number | null;
  /** On how many masters. */
  readonly votes: number;
  /** ISO 8601, by the masters' clocks: its run is over, and the lock is kept (--hold-at-least). null: nothing tells of that. */
  readonly endedAt: string | null;
}

export interface MasterVote {
  readonly master: string;
  readonly vote: 'free' | 'held' | 'failed';
  /** The place of its holder in `holders`, of several the first; null where there is none. */
  readonly holder: number | null;
  /** null: it never expires by itself, or is not held. */
  readonly remainingMs: number | null;
  /** The counter of the fencing number; null: none. */
  readonly fence: number | null;
  /** Why its vote does not count. */
  readonly failure: { readonly cause: FailureCause; readonly message: string } | null;
}

export interface LockState {
  readonly name: string;
  readonly state: State;
  readonly masters: number;
  readonly quorum: number;
  /** Whether it is held alone, or may be by others at the same time who say the same. */
  readonly sharing: 'exclusive' | 'shared' | 'slots';
  /** How many may hold it at a time; null: one, or any number. */
  readonly slots: number | null;
  /** Most votes first; of a lock that is held alone more than one only where masters disagree. */
  readonly holders: readonly Holder[];
  /** When a quorum will be free if nobody extends; null: it is now, never will be by itself, or nobody can tell. */
  readonly remainingMs: number | null;
  /**
   * The fencing number of the first holder: the one that a quorum shows. A master that granted late may have counted further;
   * null where no number has a quorum, as with --no-fence and holders of other kinds.
   */
  readonly fence: number | null;
  readonly votes: readonly MasterVote[];
  /** First in line first; place counts from one. */
  readonly queue: readonly {
    readonly place: number;
    readonly id: string;
    readonly waitedMs: number;
  }[];
}

/** What one master says: what it shows, and why a free key of it does not count. */
export interface MasterReport {
  readonly master: string;
  readonly sight: LockSnapshot | Failed;
  readonly doubt: Failed | null;
}

export function lockStateOf(name: string, reports: readonly MasterReport[]): LockState {
  const quorum = quorumOf(reports.length);
  const ballots = reports.map(ballotOf);
  const values = [
    ...new Set(ballots.flatMap(({ holdings }) => holdings.map(({ value }) => value))),
  ];
  const votesFor = (value: string) => ballots.filter((ballot) => standsOn(ballot, value)).length;
  values.sort((a, b) => votesFor(b) - votesFor(a));
  const shown = ballots.flatMap(({ value }) => value ?? []);
  const counts = [...new Set(shown)].map(
    (value) => shown.filter((other) => other === value).length,
  );
  const holders = values.map((value) => holderOf(value, ballots, votesFor(value)));
  const first = ballots.flatMap(({ holdings }) =>
    holdings.filter(({ value }) => value === values[0]),
  )[0]?.sharing;
  const votes = ballots.map(
    (ballot): MasterVote => ({
      master: ballot.master,
      vote: ballot.failed ? 'failed' : ballot.value === null ? 'free' : 'held',
      holder: ballot.holdings[0] === undefined ? null : values.indexOf(ballot.holdings[0].value),
      remainingMs: ballot.sight?.remainingMs ?? null,
      fence: ballot.sight?.fence ?? null,
      failure: ballot.failed && { cause: ballot.failed.cause, message: ballot.failed.message },
    }),
  );
  const fences = votes.flatMap(({ holder, fence }) =>
    holder === 0 && fence !== null ? [fence] : [],
  );
  return {
    name,
    state: stateOf(ballots, counts, quorum),
    masters: reports.length,
    quorum,
    sharing: first?.kind ?? 'exclusive',
    slots: first?.kind === 'slots' ? first.slotCount : null,
    holders,
    remainingMs: freeInMs(votes, quorum),
    fence:
      fences.find((fence) => fences.filter((other) => other === fence).length >= quorum) ?? null,
    votes,
    queue: queueOf(ballots),
  };
}

/**
 * Every value seen, as it stands on the masters, by its token as it is shown; without those that
 * cannot be compared.
 */
export function holdingsByToken(reports: readonly MasterReport[]): ReadonlyMap<string, Holding> {
  const sights = reports.flatMap(({ sight }) =>
    'kind' in sight || sight.value === null ? [] : [sight],
  );
  return new Map(sights.flatMap(holdingsOf).map((holding) => [tokenOf(holding.value), holding]));
}

/** What --token takes: text, with bytes that are no UTF-8 as escapes, so that it can be typed. */
function tokenOf(value: string): string {
  return withBytesEscaped(parseValue(value).token);
}

interface Ballot {
  readonly master: string;
  readonly sight: LockSnapshot | null;
  /** What the key shows, to which an attempt would be refused; null: nothing. */
  readonly value: string | null;
  readonly holdings: readonly Holding[];
  readonly failed: Failed | null;
}

function ballotOf({ master, sight, doubt }: MasterReport): Ballot {
  if ('kind' in sight) return { master, sight: null, value: null, holdings: [], failed: sight };
  const value = sight.type === null ? null : (sight.value ?? `(a ${sight.type})`);
  return {
    master,
    sight,
    value,
    holdings: holdingsOf(sight),
    failed: value === null ? doubt : null,
  };
}

function stateOf(ballots: readonly Ballot[], counts: readonly number[], quorum: number): State {
  const replies = ballots.map(({ value, failed }): AcquireReply => {
    if (failed) return failed;
    if (value === null) return { kind: 'granted', fence: null };
    return { kind: 'refused', holder: value, remainingMs: null, place: null, masterTimeUs: 0 };
  });
  switch (acquireVerdictOf(replies, ballots.length)) {
    case 'granted':
      return counts.length > 0 ? 'orphan' : 'free';
    case 'busy':
      return (counts[0] ?? 0) >= quorum ? 'held' : 'split';
    case 'unfit':
      return 'unfit';
    default:
      return 'unknown';
  }
}

function standsOn({ holdings }: Ballot, value: string): boolean {
  return holdings.some((holding) => holding.value === value);
}

function holderOf(value: string, ballots: readonly Ballot[], votes: number): Holder {
  const ballot = ballots.find((one) => standsOn(one, value));
  const type = ballot?.sight?.type;
  const sharing = ballot?.holdings.find((holding) => holding.value === value)?.sharing;
  const slot = sharing?.kind === 'slots' ? sharing.slot : null;
  const nobody = {
    host: null,
    pid: null,
    user: null,
    since: null,
    label: null,
    slot,
    votes,
    endedAt: null,
  };
  if (type !== 'string') return { kind: type ?? 'unknown', token: null, ...nobody };
  const { note } = parseValue(value);
  const token = isCut(value) ? null : tokenOf(value);
  if (note === null) return { kind: 'string', token, ...nobody };
  const { host, pid, user, since, label } = note;
  return { kind: 'redlock-run', token, host, pid, user, since, label, slot, votes, endedAt: null };
}

function freeInMs(votes: readonly MasterVote[], quorum: number): number | null {
  const freeCount = votes.filter(({ vote }) => vote === 'free').length;
  if (freeCount >= quorum) return null;
  const held = votes.filter(({ vote }) => vote === 'held');
  const expiries = held
    .map(({ remainingMs }) => remainingMs ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => a - b);
  const lastMs = expiries[quorum - freeCount - 1] ?? Number.POSITIVE_INFINITY;
  return Number.isFinite(lastMs) ? lastMs : null;
}

/** Masters may know different waiters, for a moment; the longest wait that any of them tells of counts. */
function queueOf(ballots: readonly Ballot[]): LockState['queue'] {
  const waited = new Map<string, number>();
  for (const { id, waitedMs } of ballots.flatMap(({ sight }) => sight?.queue ?? [])) {
    waited.set(id, Math.max(waitedMs, waited.get(id) ?? 0));
  }
  const inOrder = [...waited].sort(([, a], [, b]) => b - a);
  return inOrder.map(([id, waitedMs], index) => ({ place: index + 1, id, waitedMs }));
}

/** One holder, as one master shows it. */
export interface Holding {
  /** What stands there; of a key that is no string its type in parentheses, which cannot be compared. */
  readonly value: string;
  readonly sharing: Sharing;
  /** null: it never expires by itself. */
  readonly remainingMs: number | null;
}

/**
 * What holds the lock on one master: the value of its key, or several beside it that hold it
 * together. *Note:* a key with a mark and no holder beside it still keeps others out until it
 * expires.
 */
export function holdingsOf({ type, value, remainingMs, holders }: LockSnapshot): Holding[] {
  if (type === null) return [];
  if (value === null)
    return [{ value: `(a ${type})`, sharing: { kind: 'exclusive' }, remainingMs }];
  if (!isMark(value)) return [{ value, sharing: { kind: 'exclusive' }, remainingMs }];
  const slotCount = Number(/^slots (\d+)$/.exec(value)?.[1] ?? 0);
  return holders.map((holder) => ({
    value: holder.value,
    sharing: slotCount === 0 ? { kind: 'shared' } : { kind: 'slots', slotCount, slot: holder.slot },
    remainingMs: holder.remainingMs,
  }));
}
