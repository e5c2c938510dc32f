// `redlockctl break NAME`: takes a lock away from the holder that is shown, and from no other:
// exactly the bytes that were shown are removed. It stops nothing itself: a holder's redlock-run
// finds out when it next extends, stops the command and exits 79. Until then the command still
// runs, and the next holder's may begin already; the fencing number protects the resource
// meanwhile. With --safely our own value takes the place of the holder's, and lasts as long as that
// would have, which is longer than the command may run.

import { randomBytes } from 'node:crypto';
import { quorumOf } from '../lock/quorum.ts';
import type { ReleaseReply } from '../lock/types.ts';
import { renderValue } from '../lock/value.ts';
import { UsageError } from '../text/errors.ts';
import { exitCode } from '../text/exit-codes.ts';
import { jsonLine } from '../text/json.ts';
import { roughly } from '../text/lines.ts';
import { quoted } from '../text/quote.ts';
import type { Call } from './call.ts';
import { withEndings } from './history/endings.ts';
import {
  type Holder,
  holdingsByToken,
  holdingsOf,
  lockStateOf,
  type MasterReport,
  type State,
} from './lock-state.ts';
import { headlineOf, renderLock } from './lock-text.ts';
import { codeOf } from './status.ts';
import { MasterQuery } from './survey.ts';

/**
 * broken: removed, and a quorum shows it no more. gone: there was nothing left to remove.
 * changed-hands: held by someone else by now, and left alone. refused: no yes was said, or it
 * cannot be told which holder. no-quorum: too few masters answered.
 */
export type BreakOutcome = 'broken' | 'gone' | 'changed-hands' | 'refused' | 'no-quorum';

interface Broken {
  readonly outcome: BreakOutcome;
  /** One line for people. */
  readonly message: string;
  readonly removed: number;
  readonly code: number;
}

export async function breakLock(call: Call): Promise<number> {
  const name = call.words.operands[0] ?? '';
  const broken = await attempt(call, name);
  const { outcome, message, removed, code } = broken;
  if (call.words.has('--json')) call.print(jsonLine({ name, outcome, removed, message }));
  else if (code === exitCode.ok) call.print(`${outcome}: ${quoted(name)}: ${message}\n`);
  else call.tell(`${outcome}: ${quoted(name)}: ${message}`);
  return code;
}

async function attempt(
  { words, settings, clock, note, tell, ask }: Call,
  name: string,
): Promise<Broken> {
  const survey = await MasterQuery.of(settings, clock);
  const [reports = []] = await survey.reports([name]);
  const [lock = lockStateOf(name, [])] = await withEndings(survey, [lockStateOf(name, reports)]);
  const code = codeOf[lock.state];
  if (lock.state === 'unknown' || lock.state === 'unfit') {
    return { outcome: 'no-quorum', message: headlineOf(lock), removed: 0, code };
  }
  const given = words.textOf('--token');
  const meant =
    given === null ? lock.holders : lock.holders.filter((holder) => holder.token === given);
  if (lock.holders.length === 0)
    return { outcome: 'gone', message: 'free: nothing to break', removed: 0, code };
  tell(renderLock(lock).trimEnd());
  const [holder, ...others] = meant;
  if (holder === undefined) {
    return {
      outcome: 'changed-hands',
      message: `not held with token ${quoted(given ?? '')}: left alone`,
      removed: 0,
      code: exitCode.busy,
    };
  }
  if (others.length > 0) return refused('several holders: none broken (name one by --token)');
  const holding = holder.token === null ? undefined : holdingsByToken(reports).get(holder.token);
  if (holding === undefined) return refused(whyIncomparable(holder));
  const { value, sharing } = holding;
  const isSafe = words.has('--safely');
  const effect = effectOn(holder, lock.state, isSafe);
  if (isSafe && sharing.kind !== 'exclusive') {
    throw new UsageError(
      `break: --safely: ${quoted(name)} is held by several, and one cannot keep the others out (leave it out)`,
    );
  }
  if (!words.has('--yes')) {
    if (ask === null)
      throw new UsageError(
        'break: no terminal to ask on (say --yes, or name the holder by --token too)',
      );
    const answer = await ask(`Break ${quoted(name)}? If so, ${effect} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) return refused('nobody said yes: left alone');
  }
  survey.forgive();
  if (!isSafe) return told(await survey.remove(name, value, sharing), effect);
  const by = renderValue(randomBytes(20).toString('base64url'), note());
  const { remainingMs } = lock;
  const kept =
    remainingMs === null
      ? ''
      : `; others are kept out for another ${roughly(remainingMs)}${holder?.kind === 'redlock-run' ? ', by when it has stopped' : ''}`;
  return told(await survey.replace(name, value, by), `${effect}${kept}`);

  /** Why a master has not confirmed it is said before what came of it. */
  async function told(replies: readonly ReleaseReply[], effect: string): Promise<Broken> {
    for (const [at, reply] of replies.entries()) {
      if (reply.kind === 'failed') tell(`${survey.observers[at]?.name}: ${reply.message}`);
    }
    const confirmed = replies.filter(({ kind }) => kind !== 'failed');
    if (confirmed.length >= quorumOf(replies.length)) return judged(replies, effect);
    // A master may have done it and failed afterwards.
    survey.forgive();
    const [now = []] = await survey.reports([name]);
    const known = (reply: ReleaseReply, at: number): ReleaseReply =>
      reply.kind === 'failed' && isGoneFrom(now[at], value) ? { kind: 'released' } : reply;
    return judged(replies.map(known), effect);
  }
}

/** Whether the master tells that this value does not stand there. */
function isGoneFrom(masterReport: MasterReport | undefined, value: string): boolean {
  if (masterReport === undefined || 'kind' in masterReport.sight) return false;
  return !holdingsOf(masterReport.sight).some((holding) => holding.value === value);
}

/** What becomes of whoever had it. */
export function effectOn(holder: Holder | undefined, state: State, isSafe: boolean): string {
  if (state === 'orphan') return 'nothing changes for anybody: the remainder kept nobody out';
  if (holder?.kind !== 'redlock-run')
    return 'the program that set it is not told, and may go on as if it held the lock';
  if (holder.endedAt !== null) return 'nothing is stopped: its run has ended';
  if (/^redlockctl\b/.test(holder.label ?? ''))
    return 'whoever took it finds out with the next extend or check';
  const risk = isSafe ? '' : ', perhaps after another has begun';
  return `its redlock-run, if alive, stops the command when it next extends, a third of its ttl at most${risk}`;
}

/** What came of it, from one reply a master. `effect`: what becomes of whoever had it. */
export function judged(replies: readonly ReleaseReply[], effect: string): Broken {
  const count = (kind: ReleaseReply['kind']) =>
    replies.filter((reply) => reply.kind === kind).length;
  const [removed, taken, gone, all] = [
    count('released'),
    count('taken'),
    count('missing'),
    replies.length,
  ];
  if (removed + taken + gone < quorumOf(all)) {
    const message = `removed on ${removed} of ${all} masters only: the holder may get it back (try again when a quorum answers)`;
    return { outcome: 'no-quorum', message, removed, code: exitCode.unreachable };
  }
  if (removed > 0) {
    const rest = taken > 0 ? `; ${taken} in other hands by now, left alone` : '';
    const message = `removed on ${removed} of ${all} masters${rest}; ${effect}`;
    return { outcome: 'broken', message, removed, code: exitCode.ok };
  }
  if (taken > 0) {
    return {
      outcome: 'changed-hands',
      message: 'in other hands by now: left alone',
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
