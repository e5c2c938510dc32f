// The steps after `redlockctl acquire`: `extend` and `release` with its token, and `check`. By
// default `check` reports whether the lock is still held, inside a run or between steps; without a
// name it checks the lock of the enclosing run, which the environment names. Exit 79 is "lost",
// as in redlock-run.

import { Redlock } from '../../lock/redlock.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { enclosingLeaseOf } from '../../text/held-locks.ts';
import { roughly } from '../../text/lines.ts';
import type { Call } from '../call.ts';
import { checkPast, isAboutPast } from '../history/check-past.ts';
import { MasterQuery } from '../master-query.ts';
import { type Answer, extendBy, type LockHandle, look, releaseByToken } from './lock-handle.ts';

export async function extend(call: Call): Promise<number> {
  const handle = handleOf(call);
  const { settings, clock } = call;
  return take(call, handle, (query) =>
    extendBy(handle, settings.ttlMs, query, new Redlock(query.servers, clock, settings, () => {})),
  );
}

export async function release(call: Call): Promise<number> {
  const handle = handleOf(call);
  return take(call, handle, (query) => releaseByToken(handle, query));
}

export async function check(call: Call): Promise<number> {
  if (isAboutPast(call)) return checkPast(call);
  const handle = checkedOf(call);
  return take(call, handle, (query) => look(handle, query));
}

function handleOf({ args }: Call): LockHandle {
  const token = args.textOf('--token');
  if (token === null) throw new UsageError(`${args.verb}: --token missing (acquire prints it)`);
  return { name: args.name, token };
}

/** The lock that is checked: that of the token, or of a run around this process. */
function checkedOf({ args, environment }: Call): LockHandle {
  const [named] = args.operands;
  const { REDLOCK_NAME, REDLOCK_HELD } = environment;
  const name = named ?? REDLOCK_NAME;
  const ofRun = named === undefined || named === REDLOCK_NAME || !REDLOCK_HELD;
  const inherited = () =>
    ofRun ? environment.REDLOCK_TOKEN : enclosingLeaseOf(environment, [named])?.token;
  const token = args.textOf('--token') ?? inherited();
  if (name && token) return { name, token };
  const which = ofRun ? 'no lock to ask for' : `${quoted(name ?? '')}: no run around this holds it`;
  throw new UsageError(
    `check: ${which} (call it inside a run of redlock-run, or give NAME and --token)`,
  );
}

/** Takes the step and reports its result; of masters that do not answer, also why. */
async function take(
  { args, settings, clock, print, tell }: Call,
  handle: LockHandle,
  step: (query: MasterQuery) => Promise<Answer>,
): Promise<number> {
  const query = await MasterQuery.of(settings, clock);
  const answer = await step(query);
  query.close();
  const { kind: outcome } = answer;
  const name = quoted(handle.name);
  const validMs = answer.kind === 'held' && Number.isFinite(answer.validMs) ? answer.validMs : null;
  if (args.has('--json')) {
    const wholeMs = validMs === null ? null : Math.floor(validMs);
    print(jsonLine({ name: handle.name, outcome, validMs: wholeMs }));
  } else if (outcome === 'lost')
    tell(`lost: ${name}: not held with this token (see redlockctl status)`);
  else if (outcome === 'unknown')
    tell(`no quorum: ${name}: ${query.failureLines().join('; ') || 'too few answered to tell'}`);
  else print(`${outcome}: ${name}${validMs === null ? '' : `: for another ${roughly(validMs)}`}\n`);
  const isMisconfigured = query.failures().some((failed) => failed?.cause === 'misconfigured');
  return outcome === 'unknown' && isMisconfigured ? exitCode.config : codes[outcome];
}

const codes: Readonly<Record<Answer['kind'], number>> = {
  held: exitCode.ok,
  released: exitCode.ok,
  lost: exitCode.lost,
  unknown: exitCode.unreachable,
};
