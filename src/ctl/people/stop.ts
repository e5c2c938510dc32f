// `redlockctl stop NAME`: asks the holder to stop its command with its own signal and grace, and
// waits until a quorum shows it no more. It takes nothing away: a holder that does not hear goes
// on, and `break` is for that one.

import { kinds, readOption } from '../../config/values.ts';
import { exitCode } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import type { Call } from '../call.ts';
import { type Holder, lockStateOf } from '../lock-state.ts';
import { describe, headlineOf } from '../lock-text.ts';
import { MasterQuery } from '../master-query.ts';
import { codeOf } from '../status.ts';
import { type AskingOutcome, askable, askToStop } from './acts.ts';
import { actLine, addToHistory, newId, personOf } from './person.ts';

/** `free`: nothing to stop. */
type StopOutcome = AskingOutcome | 'free';

interface Stopped {
  readonly outcome: StopOutcome;
  /** One line for people. */
  readonly message: string;
  readonly code: number;
}

const defaultWaitMs = 60_000;

const failingWords: Readonly<Record<StopOutcome, string>> = {
  free: 'free',
  stopped: 'stopped',
  held: 'held',
  unheard: 'not heard',
  'no-quorum': 'no quorum',
};

export async function stop(call: Call): Promise<number> {
  const name = call.args.operands[0] ?? '';
  const { outcome, message, code } = await attempt(call, name);
  if (call.args.has('--json')) call.print(jsonLine({ name, outcome, message }));
  else if (code === exitCode.ok) call.print(`${outcome}: ${quoted(name)}: ${message}\n`);
  else call.tell(`${failingWords[outcome]}: ${quoted(name)}: ${message}`);
  return code;
}

async function attempt(call: Call, name: string): Promise<Stopped> {
  const { args, settings, clock, tell } = call;
  const by = personOf(call);
  const wait = args.textOf('--wait');
  const waitMs = wait === null ? defaultWaitMs : readOption('--wait', wait, kinds.wait.parse);
  const query = await MasterQuery.of(settings, clock);
  const [reports = []] = await query.reports([name]);
  const lock = lockStateOf(name, reports);
  if (lock.state === 'unknown' || lock.state === 'misconfigured')
    return { outcome: 'no-quorum', message: headlineOf(lock), code: codeOf[lock.state] };
  if (codeOf[lock.state] === exitCode.ok || lock.holders.length === 0)
    return { outcome: 'free', message: 'nothing to stop', code: exitCode.ok };
  const holders = askable(lock, reports);
  const isAsked = ({ token }: Holder) => holders.some((one) => one.token === token);
  const deaf = lock.holders.filter((holder) => !isAsked(holder));
  // What a minority shows keeps no client out, and no holder from being asked.
  const keeper = deaf.find(({ votes }) => votes >= lock.quorum);
  const [first] = deaf;
  if (first && (holders.length === 0 || (keeper && lock.sharing === 'exclusive')))
    return cannotHear(keeper ?? first);
  for (const holder of lock.holders.filter(isAsked))
    tell(`asking: ${quoted(name)}: ${describe(holder)}`);
  for (const { token } of holders) await addToHistory(query, name, actLine('stop', by, token));
  const beganAt = clock.now();
  const outcome = await askToStop(query, clock, name, holders, { id: newId(), by }, waitMs);
  if (outcome === 'stopped' && keeper) return cannotHear(keeper);
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
    case 'unheard': {
      const why =
        'the holder does not hear: it is cut off, dead, of an older version or the library';
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
  return { outcome: 'unheard', message, code: exitCode.busy };
}
