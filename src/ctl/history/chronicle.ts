// The runs of some locks, put together from what each master keeps: every run once, in the order in which they began. Pure. This is
// what --json prints, so its shape is a promise. The surprise: times of day are the masters', the median of those that took the
// line; what a host believes to be the time plays no part.

import { parseRecord, type RunRecord } from '../../lock/history-record.ts';
import type { SeenLine } from '../../redis/snapshot.ts';
import type { LockState } from '../lock-state.ts';

/** Who held the lock when somebody was refused. */
export interface PastHolder {
  /** `redlock-run`, or another program's `string`, of which `token` is the beginning. */
  readonly kind: string;
  readonly token: string;
  readonly host: string | null;
  readonly pid: number | null;
  readonly user: string | null;
  /** ISO 8601, by the holder's clock. */
  readonly since: string | null;
  readonly label: string | null;
}

/** Instants are ISO 8601. */
export interface PastRun {
  readonly name: string;
  readonly token: string;
  readonly host: string;
  readonly pid: number;
  readonly user: string;
  readonly label: string;
  readonly beganAt: string;
  /** null: it never had the lock, or did not start its command. */
  readonly acquiredAt: string | null;
  /** null: it runs now. */
  readonly endedAt: string | null;
  readonly waitMs: number;
  /** null: its command was never started. */
  readonly heldMs: number | null;
  /** As in --report; `running` for the present holder, whose wait is not known. */
  readonly outcome: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly status: number | null;
  readonly fence: number | null;
  readonly blocker: PastHolder | null;
  /** How many masters tell of it. */
  readonly masters: number;
}

/** In that order. `lines`: of each master. */
export function pastRunsOf(name: string, lines: readonly (readonly SeenLine[])[]): PastRun[] {
  const runs = new Map<string, { record: RunRecord; takenAtMs: number[] }>();
  for (const ofOne of lines) {
    // A line that was sent twice was first taken when the run ended.
    const first = new Map<string, { record: RunRecord; takenAtMs: number }>();
    for (const { line, takenAtMs } of ofOne) {
      const record = parseRecord(line);
      const known = record && first.get(record.token);
      if (record && (!known || takenAtMs < known.takenAtMs))
        first.set(record.token, { record, takenAtMs });
    }
    for (const [token, { record, takenAtMs }] of first) {
      const run = runs.get(token) ?? { record, takenAtMs: [] };
      run.takenAtMs.push(takenAtMs);
      runs.set(token, run);
    }
  }
  return [...runs.values()]
    .map(({ record, takenAtMs }) => pastRunOf(name, record, takenAtMs))
    .sort(byStart);
}

/** The present holder as a run that has not ended; null where there is none of ours, or it is in the list already. */
export function presentRunOf(
  { name, state, holders, fence }: LockState,
  runs: readonly PastRun[],
  nowMs: number,
) {
  const [holder] = holders;
  if (
    state !== 'held' ||
    !holder?.since ||
    !holder.token ||
    runs.some(({ token }) => token === holder.token)
  )
    return null;
  const { token, host, pid, user, label, since, votes: masters } = holder;
  const who = { token, host: host ?? '', pid: pid ?? 0, user: user ?? '', label: label ?? '' };
  const sinceMs = Date.parse(since);
  if (Number.isNaN(sinceMs)) return null;
  const beganAt = new Date(sinceMs).toISOString();
  const heldMs = Math.max(0, nowMs - sinceMs);
  const times = { beganAt, acquiredAt: beganAt, endedAt: null, waitMs: 0, heldMs };
  const end = { outcome: 'running', exitCode: null, signal: null, status: null };
  return { name, ...who, ...times, ...end, fence, blocker: null, masters } satisfies PastRun;
}

/** In the order in which they began to try: where cron's 02:00 is looked for. */
export function byStart(a: PastRun, b: PastRun): number {
  return startOf(a) - startOf(b) || endOf(a) - endOf(b);
}

/** In ms since 1970; infinite for what runs now. */
export function endOf({ endedAt }: PastRun): number {
  return endedAt === null ? Number.POSITIVE_INFINITY : Date.parse(endedAt);
}

export function startOf({ beganAt }: PastRun): number {
  return Date.parse(beganAt);
}

function pastRunOf(name: string, record: RunRecord, takenAtMs: readonly number[]): PastRun {
  const {
    token,
    host,
    pid,
    user,
    label,
    waitMs,
    heldMs,
    outcome,
    exitCode,
    signal,
    status,
    fence,
    blocker,
  } = record;
  const endedMs = median(takenAtMs);
  const acquiredMs = endedMs - (heldMs ?? 0);
  return {
    ...{ name, token, host, pid, user, label },
    beganAt: iso(acquiredMs - waitMs),
    acquiredAt: heldMs === null ? null : iso(acquiredMs),
    endedAt: iso(endedMs),
    ...{ waitMs, heldMs, outcome, exitCode, signal, status, fence },
    blocker: blocker && pastHolderOf(blocker),
    masters: takenAtMs.length,
  };
}

function pastHolderOf({ token, note }: NonNullable<RunRecord['blocker']>): PastHolder {
  const nobody = { host: null, pid: null, user: null, since: null, label: null };
  if (note === null) return { kind: 'string', token, ...nobody };
  const { host, pid, user, since, label } = note;
  return { kind: 'redlock-run', token, host, pid, user, since, label };
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)] ?? 0;
}

/** Whatever a line says: a year that no Date has would throw. */
function iso(ms: number): string {
  return new Date(Math.min(Math.max(ms, 0), 8.64e15)).toISOString();
}
