// `redlockctl stop NAME`: asks the holder to stop its command with its own signal and grace, and
// waits until a quorum no longer shows it. It takes nothing away: a holder that does not hear goes
// on, and `break` is for that one.

import { kinds, readOption } from '../config/values.ts';
import { exitCode } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import { roughly } from '../text/lines.ts';
import type { Call } from './call.ts';
import { type Holder, lockStateOf } from './lock-state.ts';
import { describe, headlineOf } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';
import { addToHistory, askable, askToStop } from './operations.ts';
import { type Answer, actLine, newId, operatorOf, printAnswer } from './operator.ts';
import { codeOf } from './status.ts';

const defaultWaitMs = 60_000;

export async function stop(call: Call): Promise<number> {
  const answer = await askHolders(call);
  const failed = answer.outcome === 'unheard' ? 'not heard' : undefined;
  return printAnswer(call, answer, {}, failed);
}

async function askHolders(call: Call): Promise<Answer> {
  const { args, settings, clock, tell } = call;
  const { name } = args;
  const by = operatorOf(call);
  const wait = args.textOf('--wait');
  const waitMs = wait === null ? defaultWaitMs : readOption('--wait', wait, kinds.wait.parse);
  const query = await MasterQuery.of(settings, clock);
  const [reports = []] = await query.reports([name]);
  const lock = lockStateOf(name, reports);
  const code = codeOf[lock.state];
  if (lock.state === 'unknown' || lock.state === 'misconfigured')
    return { outcome: 'no-quorum', message: headlineOf(lock), code };
  if (code === exitCode.ok || lock.holders.length === 0)
    return { outcome: 'free', message: 'nothing to stop', code: exitCode.ok };
  const holders = askable(lock, reports);
  const isAsked = ({ token }: Holder) => holders.some((one) => one.token === token);
  const others = lock.holders.filter((holder) => !isAsked(holder));
  // What a minority shows keeps no client out, and no holder from being asked.
  const keeper = others.find(({ votes }) => votes >= lock.quorum);
  const [first] = others;
  if (first && (holders.length === 0 || (keeper && lock.sharing === 'exclusive')))
    return cannotHear(keeper ?? first);
  for (const holder of lock.holders.filter(isAsked))
    tell(`asking: ${quoted(name)}: ${describe(holder)}`);
  for (const { token } of holders) await addToHistory(query, name, actLine('stop', by, token));
  const beganAt = clock.now();
  const outcome = await askToStop(query, clock, name, holders, { id: newId(), by }, waitMs);
  if (outcome === 'stopped' && keeper) return cannotHear(keeper);
  return { outcome, ...ends[outcome](roughly(clock.now() - beganAt)) };
}

/** What is printed for each end, after this span. */
const ends = {
  stopped: (after: string) => ({ message: `released after ${after}`, code: exitCode.ok }),
  held: (after: string) => ({
    message: `asked, and still held after ${after} (wait longer with -w)`,
    code: exitCode.busy,
  }),
  unheard: () => ({
    message:
      'the holder does not hear: it is cut off, dead, of an older version or the library ' +
      '(redlockctl break takes the lock away)',
    code: exitCode.busy,
  }),
  'no-quorum': (after: string) => ({
    message: `too few masters answered in ${after} to tell whether it has stopped`,
    code: exitCode.unreachable,
  }),
};

function cannotHear(holder: Holder): Answer {
  const why = holder.endedAt === null ? 'cannot be asked' : 'its run has ended, the lock is kept';
  const message = `${why}: ${describe(holder)} (redlockctl break takes the lock away)`;
  return { outcome: 'unheard', message, code: exitCode.busy };
}
