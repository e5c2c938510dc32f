// The state of a lock as text for people: a headline that says what is so, a table of the votes, a table of the queue. Pure. The
// surprise: the headline says "held by" in the words of the line that a waiting redlock-run prints.

import { roughly } from '../cli/lines.ts';
import { oneLine, quoted } from '../cli/trouble.ts';
import type { Holder, LockState, MasterVote } from './lock-state.ts';
import { renderTable } from './table.ts';

/** Several lines, ends with a newline. */
export function renderLock(lock: LockState): string {
  const { holders, queue } = lock;
  const detail = holders.length === 1 && holders[0] ? `${detailOf(lock, holders[0])}\n` : '';
  const votes = renderTable(
    ['MASTER', 'VOTE', 'LEFT', ''],
    lock.votes.map((vote) => [vote.master, vote.vote, leftOf(vote), remarkOn(vote, holders)]),
  );
  const rows = queue.map(({ place, id, waitedMs }) => [String(place), roughly(waitedMs), id]);
  const line = queue.length === 0 ? '' : `\n${renderTable(['PLACE', 'WAITING FOR', 'WAITER'], rows)}`;
  return `${quoted(lock.name)}: ${headlineOf(lock)}\n${detail}\n${votes}${line}`;
}

/** What is so, in one line. */
export function headlineOf(lock: LockState): string {
  const { state, holders, votes, masters, quorum, remainingMs, queue } = lock;
  const first = holders[0];
  const waiting = queue.length === 0 ? '' : `; ${queue.length} waiting`;
  switch (state) {
    case 'free':
      return `free${waiting}`;
    case 'held':
      return `held by ${first ? whoIs(first) : 'nobody'}; on ${first?.votes} of ${masters} masters; ${endOf(remainingMs)}${waiting}`;
    case 'orphan':
      return `free; a remainder on ${first?.votes} of ${masters} masters, fewer than the quorum of ${quorum}, keeps nobody out${waiting}`;
    case 'split':
      return `split: no quorum of ${quorum} shows one holder, and none is free: nobody can get it; ${endOf(remainingMs)}${waiting}`;
    case 'unknown': {
      const failures = votes.filter(({ failure }) => failure !== null);
      return `unknown: no quorum: only ${masters - failures.length} of ${masters} masters can tell${first ? `; seen: held by ${whoIs(first)}` : ''}`;
    }
    case 'unfit':
      return 'unknown: a server is in the list of masters that must not be there';
  }
}

/** "ops@web1, pid 4711, backup.sh, since 2026-11-21T02:00:00.314Z", or whose key it is if not redlock-run's. */
export function whoIs(holder: Holder): string {
  if (holder.kind === 'redlock-run') {
    const { user, host, pid, label, since } = holder;
    return [`${user}@${host}`, `pid ${pid}`, label, `since ${since}`].map((part) => shortened(part ?? '')).join(', ');
  }
  if (holder.kind === 'string') return `another program (value ${shortened(holder.token ?? '', 40)})`;
  return `another program (a key of type ${holder.kind})`;
}

/** Text of others: on one line, and no more than so many characters of it. */
export function shortened(text: string, mostChars = 80): string {
  const line = oneLine(text);
  return line.length > mostChars ? `${line.slice(0, mostChars)}...` : line;
}

function detailOf({ fence }: LockState, { token }: Holder): string {
  const parts = [token === null ? '' : `token ${shortened(token)}`, fence === null ? '' : `fence ${fence}`];
  return `  ${parts.filter((part) => part !== '').join(', ')}`.trimEnd();
}

function endOf(remainingMs: number | null): string {
  return remainingMs === null ? 'it never expires by itself' : `lease ends in ${roughly(remainingMs)} unless extended`;
}

function leftOf({ vote, remainingMs }: MasterVote): string {
  if (vote !== 'held') return '';
  return remainingMs === null ? 'for ever' : roughly(remainingMs);
}

function remarkOn({ failure, holder }: MasterVote, holders: readonly Holder[]): string {
  if (failure) return failure.message;
  const who = holder === null ? undefined : holders[holder];
  return who !== undefined && holders.length > 1 ? `by ${whoIs(who)}` : '';
}
