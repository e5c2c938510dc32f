// The state of one lock, put together from what the masters show: its holders, whether it could be
// acquired now, its wait queue. Pure. --json prints this object, so its shape is a promise. The
// verdict comes from the function that decides attempts, so redlockctl and redlock-run agree.

import { acquireVerdictOf, median, quorumOf } from '../lock/quorum.ts';
import type { AcquireReply, Failed, FailureCause } from '../lock/types.ts';
import { type HolderRecord, parseValue } from '../lock/value.ts';
import { waitingProcess } from '../lock/waiter-id.ts';
import { isFailed } from '../redis/errors.ts';
import { isCut, type LockSnapshot } from '../redis/snapshot.ts';
import { withBytesEscaped } from '../text/bytes.ts';
import { failureLine } from '../text/lines.ts';
import { iso } from '../text/time.ts';
import { type Holding, holdingsOf, type ShownFreeze, shownFreezeOf } from './holdings.ts';

/**
 * free: a quorum is free. orphan: a quorum is free, and a minority shows a value, which keeps no
 * client out. held: a quorum shows one value. frozen: a quorum shows a freeze, and none a holder.
 * split: no value has a quorum, and none can get one. unknown: too few masters can tell.
 * misconfigured: the list has a server that must not be in it.
 */
export type State = 'free' | 'orphan' | 'held' | 'frozen' | 'split' | 'unknown' | 'misconfigured';

/** Of the value that keeps others out after `break --safely`. */
export const breakLabel = 'redlockctl break';

/** What is shown of a holder record; null: it lacks that field, or there is no record. */
export interface ShownRecord {
  readonly host: string | null;
  readonly pid: number | null;
  readonly user: string | null;
  /** ISO 8601, by the holder's clock. */
  readonly since: string | null;
  /** Its --label, else the command's base name. */
  readonly label: string | null;
  /** Its --note. */
  readonly note: string | null;
  /** The page of its CI job. */
  readonly url: string | null;
}

export interface Holder extends ShownRecord {
  /** `redlock-run`, another program's `string`, or another type of key, such as `hash`. */
  readonly kind: string;
  /** What --token takes; null for a key that is no string, or a value too long for a lock. */
  readonly token: string | null;
  /** The process on its host for which redlockctl hold holds it; null: it holds it for none. */
  readonly forPid: number | null;
  /** The number of its slot, from 1; null: the lock has no slots. */
  readonly slot: number | null;
  /** The number of masters that show it. */
  readonly votes: number;
  /**
   * ISO 8601, by the masters' clocks: when its run ended, where the lock is kept after it
   * (--hold-at-least, or processes that could not be killed). null: it has not, or this is not
   * known.
   */
  readonly endedAt: string | null;
}

export interface MasterVote {
  readonly master: string;
  readonly vote: 'free' | 'held' | 'frozen' | 'failed';
  /** The index of its holder in `holders`, of several the first; null: it shows none. */
  readonly holder: number | null;
  /** null: not held, or it never expires by itself. */
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
  /** Whether one holder has it alone, or several may share it. */
  readonly sharing: 'exclusive' | 'shared' | 'slots';
  /** How many may hold it at a time, with `slots`; otherwise null. */
  readonly slots: number | null;
  /** Most votes first. An exclusive lock has several only where masters disagree. */
  readonly holders: readonly Holder[];
  /**
   * When a quorum will be free if the lock is not extended; null: it is free now, never will be by
   * itself, or this is unknown.
   */
  readonly remainingMs: number | null;
  /**
   * The fencing number of the first holder: the one that a quorum shows. A master that granted late
   * may have counted further. null: no number has a quorum, as with --no-fence and with holders of
   * other kinds.
   */
  readonly fence: number | null;
  readonly votes: readonly MasterVote[];
  /** What bars new holders, perhaps on too few masters; null: nothing does. */
  readonly freeze: ShownFreeze | null;
  /** The head of the wait queue first; `position` counts from 1. */
  readonly queue: readonly {
    readonly position: number;
    readonly id: string;
    readonly waitedMs: number;
    /** Of the process that waits; null: its id lacks it. */
    readonly pid: number | null;
    readonly host: string | null;
    readonly user: string | null;
    /** The command's base name, or its --label. */
    readonly label: string | null;
    /** The beginning of its --note; null: none. */
    readonly note: string | null;
  }[];
}

/** What one master shows, and why its vote for a free key does not count (null: it counts). */
export interface MasterReport {
  readonly master: string;
  readonly snapshot: LockSnapshot | Failed;
  readonly restartFailure: Failed | null;
}

export function lockStateOf(name: string, reports: readonly MasterReport[]): LockState {
  const quorum = quorumOf(reports.length);
  const views = reports.map(viewOf);
  const all = views.flatMap(({ holdings }) => holdings);
  const votesFor = (value: string) => views.filter((view) => showsValue(view, value)).length;
  const values = [...new Set(all.map(({ value }) => value))].sort(
    (a, b) => votesFor(b) - votesFor(a),
  );
  const votes = views.map(({ holdings, vote }): MasterVote => {
    const shown = holdings[0]?.value;
    return { ...vote, holder: shown === undefined ? null : values.indexOf(shown) };
  });
  const fences = votes.flatMap(({ holder, fence }) => (holder === 0 ? (fence ?? []) : []));
  const sharing = all.find(({ value }) => value === values[0])?.sharing;
  const freeze = shownFreezeOf(views.map(({ snapshot }) => snapshot?.freeze ?? null));
  return {
    name,
    state: stateOf(views, freeze?.votes ?? 0, quorum),
    masters: reports.length,
    quorum,
    sharing: sharing?.kind ?? 'exclusive',
    slots: sharing?.kind === 'slots' ? sharing.slotCount : null,
    holders: values.map((value) => holderOf(value, views, votesFor(value))),
    remainingMs: freeInMs(votes, quorum),
    fence: shownByQuorum(fences, quorum),
    votes,
    queue: queueOf(views),
    freeze,
  };
}

/** The number that a quorum shows; null: none. */
export function shownByQuorum(shown: readonly number[], quorum: number): number | null {
  return shown.find((one) => shown.filter((other) => other === one).length >= quorum) ?? null;
}

/** Every value on the masters that can be compared, by its token as --token takes it. */
export function holdingsByToken(reports: readonly MasterReport[]): ReadonlyMap<string, Holding> {
  const snapshots = reports.flatMap(({ snapshot }) =>
    isFailed(snapshot) || snapshot.value === null ? [] : [snapshot],
  );
  return new Map(snapshots.flatMap(holdingsOf).map((holding) => [tokenOf(holding.value), holding]));
}

/** The token as text that can be typed: bytes that are not UTF-8 become escapes. */
function tokenOf(value: string): string {
  return withBytesEscaped(parseValue(value).token);
}

interface MasterView {
  /** null: it failed. */
  readonly snapshot: LockSnapshot | null;
  /** The value, of a holder or a freeze, for which an attempt would be refused; null: none. */
  readonly value: string | null;
  readonly holdings: readonly Holding[];
  /** Why its vote does not count; null: it does. */
  readonly failed: Failed | null;
  readonly vote: Omit<MasterVote, 'holder'>;
}

function viewOf({ master, snapshot: answer, restartFailure }: MasterReport): MasterView {
  const snapshot = isFailed(answer) ? null : answer;
  const { type = null, freeze = null } = snapshot ?? {};
  const held = type === null ? null : (snapshot?.value ?? `(a ${type})`);
  const value = held ?? freeze?.value ?? null;
  const restarted = value === null ? restartFailure : null;
  const failed = isFailed(answer) ? answer : restarted;
  const shown = type === null ? freeze : snapshot;
  return {
    snapshot,
    value,
    holdings: snapshot === null ? [] : holdingsOf(snapshot),
    failed,
    vote: {
      master,
      vote: failed ? 'failed' : voteFor(value, type),
      remainingMs: shown?.remainingMs ?? null,
      fence: snapshot?.fence ?? null,
      failure: failed && { cause: failed.cause, message: failureLine(failed) },
    },
  };
}

function voteFor(value: string | null, type: string | null): MasterVote['vote'] {
  if (value === null) return 'free';
  return type === null ? 'frozen' : 'held';
}

function stateOf(views: readonly MasterView[], freezeVotes: number, quorum: number): State {
  const replies = views.map(({ value, failed }): AcquireReply => {
    if (failed) return failed;
    if (value === null) return { kind: 'granted', fence: null };
    return { kind: 'refused', holder: value, remainingMs: null, position: null, masterTimeUs: 0 };
  });
  const held = views.flatMap(({ snapshot, value }) => (snapshot?.type ? (value ?? []) : []));
  switch (acquireVerdictOf(replies, views.length)) {
    case 'granted':
      return held.length > 0 ? 'orphan' : 'free';
    case 'busy':
      if (held.some((value) => held.filter((other) => other === value).length >= quorum))
        return 'held';
      return freezeVotes >= quorum ? 'frozen' : 'split';
    case 'misconfigured':
      return 'misconfigured';
    default:
      return 'unknown';
  }
}

function showsValue({ holdings }: MasterView, value: string): boolean {
  return holdings.some((holding) => holding.value === value);
}

function holderOf(value: string, views: readonly MasterView[], votes: number): Holder {
  const view = views.find((one) => showsValue(one, value));
  const type = view?.snapshot?.type ?? 'unknown';
  const sharing = view?.holdings.find((holding) => holding.value === value)?.sharing;
  const { token: raw, record } = parseValue(value);
  const ours = type === 'string' ? record : null;
  const endings = views.flatMap(({ snapshot }) => snapshot?.endings ?? []);
  const times = endings.flatMap(({ token, atMs }) => (token === raw ? [atMs] : []));
  return {
    kind: ours === null ? type : 'redlock-run',
    token: type !== 'string' || isCut(value) ? null : withBytesEscaped(raw),
    ...shownRecord(ours),
    forPid: ours?.forPid ?? null,
    slot: sharing?.kind === 'slots' ? sharing.slot : null,
    votes,
    endedAt: ours === null || times.length === 0 ? null : iso(median(times)),
  };
}

export function shownRecord(record: HolderRecord | null): ShownRecord {
  const { host = null, pid = null, user = null, since = null, label = null } = record ?? {};
  return { host, pid, user, since, label, note: record?.note ?? null, url: record?.url ?? null };
}

/** null: a quorum is free, or will not be by itself. */
function freeInMs(votes: readonly MasterVote[], quorum: number): number | null {
  const freeCount = votes.filter(({ vote }) => vote === 'free').length;
  if (freeCount >= quorum) return null;
  const expiries = votes
    .filter(({ vote }) => vote === 'held' || vote === 'frozen')
    .map(({ remainingMs }) => remainingMs ?? Number.POSITIVE_INFINITY)
    .sort((a, b) => a - b);
  const lastMs = expiries[quorum - freeCount - 1] ?? Number.POSITIVE_INFINITY;
  return Number.isFinite(lastMs) ? lastMs : null;
}

/** Masters may briefly know different waiters; the longest wait that a master reports counts. */
function queueOf(views: readonly MasterView[]): LockState['queue'] {
  const waited = new Map<string, number>();
  for (const { id, waitedMs } of views.flatMap(({ snapshot }) => snapshot?.queue ?? [])) {
    waited.set(id, Math.max(waitedMs, waited.get(id) ?? 0));
  }
  const inOrder = [...waited].sort(([, a], [, b]) => b - a);
  const unknown = { pid: null, host: null, user: null, label: null, note: null };
  return inOrder.map(([id, waitedMs], index) => {
    return { position: index + 1, id, waitedMs, ...(waitingProcess(id) ?? unknown) };
  });
}
