// `redlockctl break NAME`: takes a lock away from the holder that it has shown. It removes exactly
// the bytes that it has shown, so another holder's lock is left alone. It stops no command itself:
// the holder's redlock-run is notified and extends at once, or notices with its next extension. It
// then stops the command and exits 79. Until then the command still runs, and that of the next
// holder may have started; the fencing number protects the resource in the meantime. With --safely
// a value of redlockctl replaces the holder's, for the rest of the holder's lease, which is longer
// than its command may run.

import { randomBytes } from 'node:crypto';
import { fitted } from '../cli/rows.ts';
import { renderRequest } from '../lock/people.ts';
import { quorumOf } from '../lock/quorum.ts';
import type { ReleaseReply } from '../lock/types.ts';
import { parseValue, renderValue } from '../lock/value.ts';
import { askedIdOf } from '../lock/waiter-id.ts';
import { isFailed } from '../redis/errors.ts';
import { exitCode, UsageError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import { failureLine, roughly } from '../text/lines.ts';
import type { Call } from './call.ts';
import { type Holding, holdingsOf } from './holdings.ts';
import {
  breakLabel,
  type Holder,
  holdingsByToken,
  type LockState,
  lockStateOf,
  type State,
} from './lock-state.ts';
import { headlineOf, lockLines } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';
import { addToHistory } from './operations.ts';
import { type Answer, actLine, newId, operatorOf, printAnswer } from './operator.ts';
import { codeOf } from './status.ts';

interface Broken extends Answer {
  /**
   * broken: removed, and a quorum no longer shows it. free: it was not held. gone: nothing was left
   * to remove. changed-hands: held by someone else by now, and left alone. refused: not confirmed,
   * frozen, or it is ambiguous which holder is meant. no-quorum: too few masters answered.
   */
  readonly outcome: 'broken' | 'free' | 'gone' | 'changed-hands' | 'refused' | 'no-quorum';
  readonly removed: number;
}

export async function breakLock(call: Call): Promise<number> {
  const { removed, ...answer } = await attempt(call);
  return printAnswer(call, answer, { removed }, answer.outcome);
}

async function attempt(call: Call): Promise<Broken> {
  const { args, settings, clock, tell, columns } = call;
  const { name } = args;
  const by = operatorOf(call);
  const query = await MasterQuery.of(settings, clock);
  const [reports = []] = await query.reports([name]);
  const lock = lockStateOf(name, reports);
  const code = codeOf[lock.state];
  if (lock.state === 'unknown' || lock.state === 'misconfigured')
    return { outcome: 'no-quorum', message: headlineOf(lock), removed: 0, code };
  if (lock.state === 'frozen')
    return refused(`${headlineOf(lock)}: no holder to break (redlockctl thaw ends a freeze)`);
  if (lock.holders.length === 0)
    return { outcome: 'free', message: 'nothing to break', removed: 0, code };
  const shown = lockLines(lock).map(({ text }) => text);
  tell(fitted(shown.join('\n'), columns));
  const holder = holderMeant(lock, args.textOf('--token'));
  if ('outcome' in holder) return holder;
  const holding = holder.token === null ? undefined : holdingsByToken(reports).get(holder.token);
  if (holding === undefined) return refused(whyIncomparable(holder));
  const isSafe = args.has('--safely');
  if (isSafe && holding.sharing.kind !== 'exclusive') {
    throw new UsageError(
      `break: --safely: ${quoted(name)} is held by several: one value cannot keep others out ` +
        '(leave --safely out)',
    );
  }
  const effect = effectOn(holder, lock.state, isSafe);
  if (!(await isConfirmed(call, effect))) return refused('not confirmed: left alone');
  query.reset();
  const replies = await remove(call, query, holding);
  const result = judged(replies, effect + (isSafe ? keptLine(lock, holder) : ''));
  if (result.outcome !== 'broken') return result;
  // A living holder looks at once.
  const { token } = parseValue(holding.value);
  const message = renderRequest({ kind: 'broken', id: newId(), token, by });
  await query.ask((master) => master.publish(name, askedIdOf(token), message));
  await addToHistory(query, name, actLine('break', by, token));
  return result;
}

/** The only holder, or that with the token; or why there is none. */
function holderMeant({ holders }: LockState, token: string | null): Holder | Broken {
  const meant = token === null ? holders : holders.filter((holder) => holder.token === token);
  const [holder, ...others] = meant;
  if (others.length > 0) return refused('several holders: none broken (name one by --token)');
  if (holder !== undefined) return holder;
  const message = `not held with token ${quoted(token ?? '')}: left alone`;
  return { outcome: 'changed-hands', message, removed: 0, code: exitCode.busy };
}

/** @throws UsageError where there is no terminal to ask on */
async function isConfirmed({ args, confirm, columns }: Call, effect: string): Promise<boolean> {
  if (args.has('--yes')) return true;
  if (confirm === null)
    throw new UsageError(
      'break: no terminal to ask on (say --yes, or name the holder by --token too)',
    );
  return confirm(fitted(`Break ${quoted(args.name)}? If so, ${effect}`, columns));
}

/** "; others are kept out for another 20s, by when it has stopped" */
function keptLine({ remainingMs }: LockState, { kind }: Holder): string {
  if (remainingMs === null) return '';
  const until = kind === 'redlock-run' ? ', by when it has stopped' : '';
  return `; others are kept out for another ${roughly(remainingMs)}${until}`;
}

/**
 * Removes the value, or replaces it with --safely, and prints which masters have not confirmed.
 * Returns what each has done, also where that is known only by looking again.
 */
async function remove(
  { args, holderRecord, tell }: Call,
  query: MasterQuery,
  { value, sharing }: Holding,
): Promise<ReleaseReply[]> {
  const { name } = args;
  const record = { ...holderRecord(), label: breakLabel };
  const guarding = renderValue(randomBytes(20).toString('base64url'), record);
  const replies = await query.ask<ReleaseReply>((server) =>
    args.has('--safely')
      ? server.exchange(name, value, guarding)
      : server.remove(name, value, sharing),
  );
  for (const [at, reply] of replies.entries())
    if (reply.kind === 'failed') tell(`${query.servers[at]?.name}: ${failureLine(reply)}`);
  const confirmed = replies.filter(({ kind }) => kind !== 'failed');
  if (confirmed.length >= quorumOf(replies.length)) return replies;
  // A master may have removed the value and failed afterwards.
  query.reset();
  const [now = []] = await query.reports([name]);
  return replies.map((reply, at) => {
    const snapshot = now[at]?.snapshot;
    if (reply.kind !== 'failed' || snapshot === undefined || isFailed(snapshot)) return reply;
    const isThere = holdingsOf(snapshot).some((holding) => holding.value === value);
    return isThere ? reply : { kind: 'released' };
  });
}

/** What breaking the lock does to its holder. */
export function effectOn(holder: Holder | undefined, state: State, isSafe: boolean): string {
  if (state === 'orphan') return 'nothing changes: the remainder kept no client out';
  if (holder?.kind !== 'redlock-run')
    return 'the program that set it is not told, and may go on as if it held the lock';
  if (holder.endedAt !== null) return 'nothing is stopped: its run has ended';
  const risk = isSafe ? '' : ', perhaps after another has begun';
  const when = 'at once, or when it next extends if it does not hear';
  return `its holder, if alive, stops ${when}${risk}`;
}

/** The result, from the reply of each master. `effect`: what it does to the holder. */
export function judged(replies: readonly ReleaseReply[], effect: string): Broken {
  const count = (kind: ReleaseReply['kind']) =>
    replies.filter((reply) => reply.kind === kind).length;
  const [removed, taken, missing] = [count('released'), count('taken'), count('missing')];
  const all = replies.length;
  if (removed + taken + missing < quorumOf(all)) {
    const message =
      `removed on ${removed} of ${all} masters only: the holder may get it back ` +
      '(try again when a quorum answers)';
    return { outcome: 'no-quorum', message, removed, code: exitCode.unreachable };
  }
  if (removed > 0) {
    const rest = taken > 0 ? `; on ${taken} held by someone else by now: left alone` : '';
    const message = `removed on ${removed} of ${all} masters${rest}; ${effect}`;
    return { outcome: 'broken', message, removed, code: exitCode.ok };
  }
  if (taken > 0) {
    const message = 'held by someone else by now: left alone';
    return { outcome: 'changed-hands', message, removed, code: exitCode.busy };
  }
  return { outcome: 'gone', message: 'ended by itself meanwhile', removed, code: exitCode.ok };
}

function whyIncomparable({ kind }: Holder): string {
  const what =
    kind === 'string' ? 'a value too long to be one of a lock' : `a key of another type (${kind})`;
  return `${what}, which cannot be compared: left alone (see what it is; redis-cli DEL removes it)`;
}

function refused(message: string): Broken {
  return { outcome: 'refused', message, removed: 0, code: exitCode.busy };
}
