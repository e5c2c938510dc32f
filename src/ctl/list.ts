// `redlockctl list [PATTERN]`: all locks under the prefix, found by SCAN on every master, page by
// page, and read in small steps. A name that only a minority shows is in the list as well, as an
// orphan.

import type { TonedLine } from '../cli/colour.ts';
import { fittedLines } from '../cli/rows.ts';
import { renderTable } from '../cli/table.ts';
import { exitCode } from '../text/errors.ts';
import { jsonLine, printable } from '../text/foreign-text.ts';
import { reasonBehind } from '../text/lines.ts';
import { plural } from '../text/plural.ts';
import type { Call } from './call.ts';
import { describeFreeze } from './holdings.ts';
import type { Holder, LockState } from './lock-state.ts';
import { leftText, together, toneOf } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';

export async function list(call: Call): Promise<number> {
  const { args, settings, clock, print, printLines, tell, columns } = call;
  const query = await MasterQuery.of(settings, clock);
  const names = await query.names(args.name || '*');
  // A lock that is free by now was released after its name had been found.
  const seen = (await query.look(names)).filter(({ state }) => state !== 'free');
  const canBeAnyKey = settings.prefix === '' && settings.protocol === 'redlock';
  const locks = canBeAnyKey ? seen.filter((lock) => !isMostLikelyNone(lock)) : seen;
  const leftOut = seen.length - locks.length;
  for (const line of query.failureLines()) tell(line);
  const { noQuorumLine } = query;
  if (args.has('--json')) print(jsonLine({ locks, leftOut }));
  else {
    if (locks.length > 0) printLines(fittedLines(listLines(locks, 60), columns));
    else tell(noQuorumLine ?? (args.name === '' ? 'no locks' : 'no locks match'));
    if (leftOut > 0) tell(leftOutLine(leftOut));
  }
  if (query.failures().some((failed) => failed?.cause === 'misconfigured')) return exitCode.config;
  return noQuorumLine === null ? exitCode.ok : exitCode.unreachable;
}

/**
 * Without a prefix every key of the database has the form of a lock's. A key that never expires and
 * that redlock-run has not set is data of another program, such as a counter: no Redlock library
 * sets a lock without an expiry.
 */
function isMostLikelyNone({ holders, votes }: LockState): boolean {
  const isOurs = holders.some(({ kind }) => kind === 'redlock-run');
  return !isOurs && votes.every(({ vote, remainingMs }) => vote !== 'held' || remainingMs === null);
}

function leftOutLine(count: number): string {
  const keys = plural(count, 'key that never expires', 'keys that never expire');
  const hint = 'redlockctl status NAME shows one';
  return `${keys} left out: without a prefix most likely no lock (${hint})`;
}

/** A heading, and one line for each lock; its name is cut to this many characters. */
export function listLines(locks: readonly LockState[], maxNameChars: number): TonedLine[] {
  const cells = locks.map((lock) => [printable(lock.name, maxNameChars), ...cellsOf(lock)]);
  const [heading = '', ...rows] = renderTable(head, cells).trimEnd().split('\n');
  return [
    { text: heading, tone: 'head' },
    ...rows.map((text, at): TonedLine => ({ text, tone: toneOf[locks[at]?.state ?? 'free'] })),
  ];
}

const head = ['NAME', 'STATE', 'VOTES', 'LEFT', 'WAITING', 'HOLDER'];

/** All but the name. */
function cellsOf(lock: LockState): string[] {
  const { state, masters, holders, freeze } = lock;
  const waiting = lock.queue.length === 0 ? '' : String(lock.queue.length);
  const [first] = holders;
  if (state === 'frozen' && freeze) {
    const left = leftText(freeze.remainingMs);
    return [state, `${freeze.votes}/${masters}`, left, waiting, describeFreeze(freeze)];
  }
  const isKnown = first !== undefined && state !== 'unknown' && state !== 'misconfigured';
  const leftMs =
    state === 'orphan'
      ? (lock.votes.find(({ vote }) => vote === 'held')?.remainingMs ?? null)
      : lock.remainingMs;
  const holder = first && (lock.sharing === 'exclusive' ? briefly(first) : together(lock));
  // What bars the next one.
  const frozen = freeze === null ? '' : `; ${describeFreeze(freeze)}`;
  return [
    state,
    `${first?.votes ?? 0}/${masters}`,
    isKnown ? leftText(leftMs) : '',
    waiting,
    holder === undefined ? '' : holder + frozen,
  ];
}

function briefly({ kind, user, host, pid, label, token, endedAt, ...reason }: Holder): string {
  if (kind === 'redlock-run') {
    const holder = printable(`${user}@${host} ${pid} ${label}`, 60) + reasonBehind(reason);
    return endedAt === null ? holder : `ended: ${holder}`;
  }
  if (kind !== 'string') return `another program: a ${kind}`;
  return `another program: ${token === null ? 'a long value' : printable(token, 24)}`;
}
