// The state of a lock as text for people: a headline, a table of the votes, a table of the wait
// queue. Pure.

import type { Tone, TonedLine } from '../cli/colour.ts';
import { toned } from '../cli/rows.ts';
import { renderTable } from '../cli/table.ts';
import { parseWaiterId } from '../lock/waiter-id.ts';
import { printable, quoted } from '../text/foreign-text.ts';
import { leaseEnd, reasonBehind, reasonParts, roughly } from '../text/lines.ts';
import { describeFreeze } from './holdings.ts';
import type { Holder, LockState, MasterVote, State } from './lock-state.ts';

/** The tone of a lock in this state. */
export const toneOf: Readonly<Record<State, Tone>> = {
  free: 'good',
  held: 'held',
  frozen: 'frozen',
  orphan: 'doubtful',
  split: 'bad',
  unknown: 'bad',
  misconfigured: 'bad',
};

/** The headline, more about the holder, the votes, the wait queue. */
export function lockLines(lock: LockState): TonedLine[] {
  const { queue, votes } = lock;
  const voteRows = votes.map((one) => [one.master, one.vote, leftOf(one), remarkOn(one, lock)]);
  const [head = '', ...rows] = renderTable(['MASTER', 'VOTE', 'LEFT', ''], voteRows)
    .trimEnd()
    .split('\n');
  const waiterRows = queue.map((waiter) => [
    String(waiter.position),
    roughly(waiter.waitedMs),
    waiterOf(waiter),
  ]);
  const waiters = renderTable(['POSITION', 'WAITING FOR', 'WAITER'], waiterRows);
  return [
    ...toned(`${quoted(lock.name)}: ${headlineOf(lock)}`, toneOf[lock.state]),
    ...toned(`${detailOf(lock)}\n`, 'plain'),
    { text: head, tone: 'head' },
    ...rows.map((text, at): TonedLine => {
      return { text, tone: votes[at]?.failure ? 'bad' : 'plain' };
    }),
    ...toned(waiters && `\n${waiters}`, 'plain'),
  ];
}

/** The state in one line. */
export function headlineOf(lock: LockState): string {
  const { state, holders, votes, masters, quorum, remainingMs, queue } = lock;
  const first = holders[0];
  const frozen = lock.freeze && describeFreeze(lock.freeze);
  const isFrozen = lock.freeze !== null && lock.freeze.votes >= quorum;
  const also = isFrozen && state === 'held' ? `; ${frozen}` : '';
  const waiting = `${also}${queue.length === 0 ? '' : `; ${queue.length} waiting`}`;
  switch (state) {
    case 'free':
      if (lock.freeze === null) return `free${waiting}`;
      return `free; a freeze on ${lock.freeze.votes} of ${masters} masters bars no run${waiting}`;
    case 'held':
      if (lock.sharing !== 'exclusive')
        return `${together(lock)}; ${leaseEnd(remainingMs)}${waiting}`;
      return (
        `held by ${first ? describe(first) : 'an unknown holder'}; ` +
        `on ${first?.votes} of ${masters} masters; ` +
        `${keptFor(lock) ?? leaseEnd(remainingMs)}${waiting}`
      );
    case 'frozen':
      return `${frozen ?? 'frozen'}; on ${lock.freeze?.votes} of ${masters} masters${waiting}`;
    case 'orphan':
      return (
        `free; a remainder on ${first?.votes} of ${masters} masters, ` +
        `fewer than the quorum of ${quorum}, keeps no client out${waiting}`
      );
    case 'split':
      return (
        `split: no quorum of ${quorum} shows one holder, and none is free: ` +
        `it cannot be acquired; ${leaseEnd(remainingMs)}${waiting}`
      );
    case 'unknown': {
      const failedCount = votes.filter(({ failure }) => failure !== null).length;
      const seen = first ? `; seen: held by ${describe(first)}` : '';
      const answered = `${masters - failedCount} of ${masters}`;
      return `unknown: no quorum: only ${answered} masters can tell${seen}`;
    }
    case 'misconfigured':
      return 'unknown: a server is in the list of masters that must not be there';
  }
}

/** The headline of a lock that several may hold. */
export function together({ sharing, slots, holders }: LockState): string {
  const endedCount = holders.filter(({ endedAt }) => endedAt !== null).length;
  const ended = endedCount === 0 ? '' : `, ${endedCount} ended`;
  if (sharing === 'slots') return `${holders.length} of ${slots} slots held${ended}`;
  return `shared by ${holders.length}${ended}`;
}

/**
 * "ops@web1, pid 4711, backup.sh, since 2026-11-21T02:00:00.314Z"; for a value that redlock-run has
 * not set "another program (...)".
 */
export function describe(holder: Holder): string {
  if (holder.kind === 'redlock-run') {
    const { user, host, pid, label, since, endedAt } = holder;
    const end = endedAt === null ? [] : [`ended ${endedAt}`];
    const parts = [`${user}@${host}`, `pid ${pid}`, label, `since ${since}`, ...end];
    return parts.map((part) => printable(part ?? '')).join(', ') + reasonBehind(holder);
  }
  if (holder.kind !== 'string') return `another program (a key of type ${holder.kind})`;
  const { token } = holder;
  const value = token === null ? 'a value too long to be shown' : `value ${printable(token, 40)}`;
  return `another program (${value})`;
}

/** More about the holder, or a table of several holders. */
function detailOf({ sharing, slots, holders, fence, masters }: LockState): string {
  const [holder, ...others] = holders;
  if (sharing !== 'exclusive') {
    const from = slots === null ? 1 : 0; // Without the slot.
    const rows = holders.map((one) => [
      String(one.slot ?? ''),
      describe(one),
      printable(one.token ?? ''),
      `${one.votes}/${masters}`,
    ]);
    return renderTable(
      ['SLOT', 'HOLDER', 'TOKEN', 'VOTES'].slice(from),
      rows.map((row) => row.slice(from)),
    );
  }
  if (holder === undefined || others.length > 0) return '';
  const { token } = holder;
  const parts = [
    ...(token === null ? [] : [`token ${printable(token)}`]),
    ...(fence === null ? [] : [`fence ${fence}`]),
  ];
  return parts.length === 0 ? '' : `  ${parts.join(', ')}\n`;
}

/** How long a lock is kept after its run; null: its run has not ended, or this is not known. */
function keptFor({ holders: [first], remainingMs }: LockState): string | null {
  return first?.endedAt && remainingMs !== null ? `kept for another ${roughly(remainingMs)}` : null;
}

/** "ops@web1, pid 4711, deploy.sh", how it waits and why; the id, if that lacks the process. */
function waiterOf({ id, pid, host, user, label, note }: LockState['queue'][number]): string {
  if (pid === null || host === null) return printable(id);
  const where = user === null ? host : `${user}@${host}`;
  const what = label === null ? [] : [label];
  const { traits } = parseWaiterId(id);
  const parts = [where, `pid ${pid}`, ...what, ...traits, ...reasonParts({ note })];
  return printable(parts.join(', '), 160);
}

function leftOf({ vote, remainingMs }: MasterVote): string {
  return vote === 'held' || vote === 'frozen' ? leftText(remainingMs) : '';
}

/** null: it does not expire. */
export function leftText(remainingMs: number | null): string {
  return remainingMs === null ? 'for ever' : roughly(remainingMs);
}

function remarkOn({ failure, holder }: MasterVote, { sharing, holders }: LockState): string {
  if (failure) return failure.message;
  if (sharing !== 'exclusive') return '';
  const shown = holder === null ? undefined : holders[holder];
  return shown !== undefined && holders.length > 1 ? `by ${describe(shown)}` : '';
}
