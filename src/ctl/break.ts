// `redlockctl break NAME`: takes a lock away from the holder that it has shown. It removes exactly
// the bytes that it has shown, so another holder's lock is left alone. It stops no command itself:
// the holder's redlock-run is told and extends at once, or notices with its next extension. Then it
// stops the command and exits 79. Until then the command still runs, and that of the next holder
// may have started; the fencing number protects the resource in the meantime. With --safely a value
// of redlockctl replaces the holder's, for the rest of the holder's lease, which is longer than its
// command may run.

import { randomBytes } from 'node:crypto';
import { fitted } from '../cli/rows.ts';
import { type Person, renderRequest } from '../lock/people.ts';
import { quorumOf } from '../lock/quorum.ts';
import type { ReleaseReply } from '../lock/types.ts';
import { parseValue, renderValue } from '../lock/value.ts';
import { askedIdOf } from '../lock/waiter-id.ts';
import { exitCode, UsageError } from '../text/errors.ts';
import { jsonLine, quoted } from '../text/foreign-text.ts';
import { failureLine, roughly } from '../text/lines.ts';
import type { Call } from './call.ts';
import { holdingsOf } from './holdings.ts';
import {
  breakLabel,
  type Holder,
  holdingsByToken,
  type LockState,
  lockStateOf,
  type MasterReport,
  type State,
} from './lock-state.ts';
import { headlineOf, renderLock } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';
import { actLine, addToHistory, newId, personOf } from './people/person.ts';
import { codeOf } from './status.ts';

/**
 * broken: removed, and a quorum no longer shows it. free: it was not held. gone: nothing was left
 * to remove. changed-hands: held by someone else by now, and left alone. refused: not confirmed,
 * frozen, or it is ambiguous which holder is meant. no-quorum: too few masters answered.
 */
export type BreakOutcome = 'broken' | 'free' | 'gone' | 'changed-hands' | 'refused' | 'no-quorum';

interface Broken {
  readonly outcome: BreakOutcome;
  /** One line for people. */
  readonly message: string;
  readonly removed: number;
  readonly code: number;
}

export async function breakLock(call: Call): Promise<number> {
  const name = call.args.operands[0] ?? '';
  const broken = await attempt(call, name);
  const { outcome, message, removed, code } = broken;
  if (call.args.has('--json')) call.print(jsonLine({ name, outcome, removed, message }));
  else if (code === exitCode.ok) call.print(`${outcome}: ${quoted(name)}: ${message}\n`);
  else call.tell(`${outcome}: ${quoted(name)}: ${message}`);
  return code;
}

/** The value of one holder, as it was shown, and the person who breaks it. */
interface Target {
  readonly query: MasterQuery;
  readonly name: string;
  readonly value: string;
  readonly by: Person;
}

async function attempt(call: Call, name: string): Promise<Broken> {
  const { args, settings, clock, holderRecord, tell, columns } = call;
  const by = personOf(call);
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
  tell(fitted(renderLock(lock).trimEnd(), columns));
  const holder = holderMeant(lock, args.textOf('--token'));
  if ('outcome' in holder) return holder;
  const holding = holder.token === null ? undefined : holdingsByToken(reports).get(holder.token);
  if (holding === undefined) return refused(whyIncomparable(holder));
  const { value, sharing } = holding;
  const isSafe = args.has('--safely');
  const effect = effectOn(holder, lock.state, isSafe);
  if (isSafe && sharing.kind !== 'exclusive') {
    throw new UsageError(
      `break: --safely: ${quoted(name)} is held by several: one value cannot keep others out ` +
        '(leave --safely out)',
    );
  }
  if (!(await isConfirmed(call, effect))) return refused('not confirmed: left alone');
  query.reset();
  const target = { query, name, value, by };
  if (!isSafe) return told(call, target, await query.remove(name, value, sharing), effect);
  const record = { ...holderRecord(), label: breakLabel };
  const guarding = renderValue(randomBytes(20).toString('base64url'), record);
  const replies = await query.exchange(name, value, guarding);
  return told(call, target, replies, effect + keptLine(lock, holder));
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

/** Records what was broken, and the person, and makes a living holder look at once. */
async function told(
  call: Call,
  target: Target,
  replies: readonly ReleaseReply[],
  effect: string,
): Promise<Broken> {
  const result = await judgedAfterALook(call, target, replies, effect);
  if (result.outcome !== 'broken') return result;
  const { query, name, value, by } = target;
  const { token } = parseValue(value);
  const request = { kind: 'broken', id: newId(), token, by } as const;
  const message = renderRequest(request);
  await query.ask((master) => master.publish(name, askedIdOf(token), message));
  await addToHistory(query, name, actLine('break', by, token));
  return result;
}

/** Prints why a master has not confirmed, and returns the result. */
async function judgedAfterALook(
  { tell }: Call,
  { query, name, value }: Target,
  replies: readonly ReleaseReply[],
  effect: string,
): Promise<Broken> {
  for (const [at, reply] of replies.entries()) {
    if (reply.kind === 'failed') tell(`${query.servers[at]?.name}: ${failureLine(reply)}`);
  }
  const confirmed = replies.filter(({ kind }) => kind !== 'failed');
  if (confirmed.length >= quorumOf(replies.length)) return judged(replies, effect);
  // A master may have removed the value and failed afterwards.
  query.reset();
  const [now = []] = await query.reports([name]);
  const known = (reply: ReleaseReply, at: number): ReleaseReply =>
    reply.kind === 'failed' && isGoneFrom(now[at], value) ? { kind: 'released' } : reply;
  return judged(replies.map(known), effect);
}

/** Whether the master answers, and does not show this value. */
function isGoneFrom(masterReport: MasterReport | undefined, value: string): boolean {
  if (masterReport === undefined || 'kind' in masterReport.snapshot) return false;
  return !holdingsOf(masterReport.snapshot).some((holding) => holding.value === value);
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
  const [removed, taken, missing, all] = [
    count('released'),
    count('taken'),
    count('missing'),
    replies.length,
  ];
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
    return {
      outcome: 'changed-hands',
      message: 'held by someone else by now: left alone',
      removed,
      code: exitCode.busy,
    };
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
