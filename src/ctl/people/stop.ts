// `redlockctl stop NAME`: asks the holder to stop its command with its own signal and grace, and
// waits until a quorum shows it no more. It takes nothing away: a holder that does not hear goes
// on, and `break` is for that one. The request is repeated, because a message may be lost, and a
// holder listens only some moments after it has begun.

import { readPatience } from '../../config/values.ts';
import { type HolderRequest, renderRequest } from '../../lock/people.ts';
import type { Clock } from '../../lock/ports.ts';
import { quorumOf } from '../../lock/quorum.ts';
import { askedIdOf } from '../../lock/waiter-id.ts';
import { isFailed } from '../../redis/errors.ts';
import { exitCode, UsageError, ValueError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import type { Call } from '../call.ts';
import { withEndings } from '../history/run-history.ts';
import { holdingsOf } from '../holdings.ts';
import { type Holder, holdingsByToken, lockStateOf, type MasterReport } from '../lock-state.ts';
import { describe, headlineOf } from '../lock-text.ts';
import { MasterQuery } from '../master-query.ts';
import { codeOf } from '../status.ts';
import { actLine, newId, personOf, recordAct } from './person.ts';

/** A holder that is asked: its token, and its value as the masters show it. */
export interface Asked {
  readonly token: string;
  readonly value: string;
}

/**
 * stopped: a quorum shows none of them. held: the time was up. deaf: no holder listens, on a
 * quorum. no-quorum: too few masters answer.
 */
export type AskingOutcome = 'stopped' | 'held' | 'deaf' | 'no-quorum';

/** The pause between two looks, and between two requests. */
const everyMs = { look: 200, ask: 1_000 };
/** How long a holder may take to listen: it begins to some moments after its command. */
const deafAfterMs = 3_000;

/** `waitMs`: null: for ever. */
async function askToStop(
  query: MasterQuery,
  clock: Clock,
  name: string,
  holders: readonly Asked[],
  request: Pick<HolderRequest, 'id' | 'by'>,
  waitMs: number | null,
): Promise<AskingOutcome> {
  const beganAt = clock.now();
  const heard = new Set<string>();
  let askedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    query.reset();
    const isDue = clock.now() - askedAt >= everyMs.ask;
    if (isDue) askedAt = clock.now();
    for (const { token } of isDue ? holders : []) {
      const message = renderRequest({ kind: 'stop', token, ...request });
      const counts = await query.ask((master) => master.publish(name, askedIdOf(token), message));
      const reached = counts.filter((count) => !isFailed(count) && count > 0).length;
      if (reached >= quorumOf(counts.length)) heard.add(token);
    }
    query.reset();
    const [reports = []] = await query.reports([name]);
    const quorum = quorumOf(reports.length);
    const votes = holders.map(({ value }) => votesOf(reports, value));
    if (votes.every(({ gone }) => gone >= quorum)) return 'stopped';
    const passedMs = clock.now() - beganAt;
    const isOver = waitMs !== null && passedMs >= waitMs;
    if (isOver && votes.some(({ gone, shown }) => gone < quorum && shown + gone < quorum))
      return 'no-quorum';
    if (isOver) return 'held';
    const isUnheard = holders.every(({ token }) => !heard.has(token));
    const isAnswered = votes.every(({ gone, shown }) => shown + gone >= quorum);
    if (isUnheard && isAnswered && passedMs >= deafAfterMs) return 'deaf';
    await query.pause(everyMs.look);
  }
}

/** How many masters show this value, and how many answer and do not. */
function votesOf(
  reports: readonly MasterReport[],
  value: string,
): { readonly shown: number; readonly gone: number } {
  const snapshots = reports.flatMap(({ snapshot }) => ('kind' in snapshot ? [] : [snapshot]));
  const shown = snapshots.filter((one) => holdingsOf(one).some((each) => each.value === value));
  return { shown: shown.length, gone: snapshots.length - shown.length };
}

/** `free`: nothing to stop. */
type StopOutcome = AskingOutcome | 'free';

interface Stopped {
  readonly outcome: StopOutcome;
  /** One line for people. */
  readonly message: string;
  readonly code: number;
}

const usualWaitMs = 60_000;

export async function stop(call: Call): Promise<number> {
  const name = call.args.operands[0] ?? '';
  const { outcome, message, code } = await attempt(call, name);
  if (call.args.has('--json')) call.print(jsonLine({ name, outcome, message }));
  else if (code === exitCode.ok) call.print(`${outcome}: ${quoted(name)}: ${message}\n`);
  else call.tell(`${outcome.replace('-', ' ')}: ${quoted(name)}: ${message}`);
  return code;
}

async function attempt(call: Call, name: string): Promise<Stopped> {
  const { args, settings, clock, tell } = call;
  const by = personOf(call);
  const waitMs = waitIn(args.textOf('--wait'));
  const query = await MasterQuery.of(settings, clock);
  const [reports = []] = await query.reports([name]);
  const [lock = lockStateOf(name, [])] = await withEndings(query, [lockStateOf(name, reports)]);
  if (lock.state === 'unknown' || lock.state === 'unfit')
    return { outcome: 'no-quorum', message: headlineOf(lock), code: codeOf[lock.state] };
  if (codeOf[lock.state] === exitCode.ok || lock.holders.length === 0)
    return { outcome: 'free', message: 'free: nothing to stop', code: exitCode.ok };
  const values = holdingsByToken(reports);
  const holders = lock.holders.flatMap((holder): Asked[] => {
    const value = holder.token === null ? undefined : values.get(holder.token)?.value;
    const canHear = holder.kind === 'redlock-run' && holder.endedAt === null;
    return canHear && holder.token !== null && value !== undefined
      ? [{ token: holder.token, value }]
      : [];
  });
  const deaf = lock.holders.find(({ token }) => !holders.some((one) => one.token === token));
  if (deaf !== undefined) return cannotHear(deaf);
  for (const holder of lock.holders) tell(`asking: ${quoted(name)}: ${describe(holder)}`);
  for (const { token } of holders) await recordAct(query, name, actLine('stop', by, token));
  const beganAt = clock.now();
  const outcome = await askToStop(query, clock, name, holders, { id: newId(), by }, waitMs);
  return told(outcome, clock.now() - beganAt);
}

function told(outcome: AskingOutcome, elapsedMs: number): Stopped {
  const after = roughly(elapsedMs);
  switch (outcome) {
    case 'stopped':
      return { outcome, message: `released after ${after}`, code: exitCode.ok };
    case 'held': {
      const why = `asked, and still held after ${after}`;
      return { outcome, message: `${why} (wait longer with -w)`, code: exitCode.busy };
    }
    case 'deaf': {
      const why = `the holder does not hear: it is cut off, dead, or of an older version`;
      const advice = 'redlockctl break takes the lock away';
      return { outcome, message: `${why} (${advice})`, code: exitCode.busy };
    }
    case 'no-quorum': {
      const message = `too few masters answered in ${after} to tell whether it has stopped`;
      return { outcome, message, code: exitCode.unreachable };
    }
  }
}

function cannotHear(holder: Holder): Stopped {
  const described = describe(holder);
  const why = holder.endedAt === null ? 'cannot be asked' : 'its run has ended, the lock is kept';
  const message = `${why}: ${described} (redlockctl break takes the lock away)`;
  return { outcome: 'deaf', message, code: exitCode.busy };
}

function waitIn(text: string | null): number | null {
  try {
    return text === null ? usualWaitMs : readPatience(text);
  } catch (error) {
    throw error instanceof ValueError ? new UsageError(`--wait: ${error.message}`) : error;
  }
}
