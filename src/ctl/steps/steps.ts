// The steps after `redlockctl acquire`: `extend` and `release` with the token it printed, and `check`, which asks inside a run or
// between steps whether the lock is still held. Exit 79 is "lost", as in redlock-run. The surprise: `check` without a name asks for
// the lock that the environment tells of, so a script under redlock-run needs to know nothing.

import { roughly } from '../../cli/lines.ts';
import { quoted, UsageError } from '../../cli/trouble.ts';
import { alone } from '../../lock/ports.ts';
import { holderIdOf } from '../../lock/waiter-id.ts';
import type { Call } from '../call.ts';
import { exitCode } from '../exit-code.ts';
import { Survey } from '../survey.ts';
import { openRedlock } from './claimant.ts';
import { type Standing, standingOf } from './held.ts';

export async function extend(call: Call): Promise<number> {
  const { settings, clock } = call;
  const { name, token } = ticketOf(call);
  const askedAt = clock.now();
  const standing = await standingNow(call, name, token);
  if (standing.kind !== 'held') return answer(call, name, standing.kind, null);
  const { ttlMs } = settings;
  const { redlock, close } = await openRedlock(settings, clock);
  const claim = {
    ...alone,
    resources: [name],
    sharing: standing.sharing,
    value: standing.value,
    ttlMs,
    isFenced: standing.fence !== null,
    waiter: null,
  };
  const validUntil = askedAt + standing.remainingMs;
  const extension = await redlock.extend({ claim, startedAt: askedAt, validUntil, fence: standing.fence });
  close();
  if (extension.kind === 'unreachable') return answer(call, name, 'unknown', null);
  if (extension.kind === 'lost') return answer(call, name, 'lost', null);
  return answer(call, name, 'held', extension.lease.validUntil - clock.now());
}

export async function release(call: Call): Promise<number> {
  const { name, token } = ticketOf(call);
  const standing = await standingNow(call, name, token);
  if (standing.kind !== 'held') return answer(call, name, standing.kind, null);
  const survey = await Survey.of(call.settings, call.clock);
  const replies = await survey.remove(name, standing.value, standing.sharing);
  const goneCount = replies.filter(({ kind }) => kind !== 'failed').length;
  const isConfirmed = goneCount > replies.length / 2;
  // A holder in the background need not find out by himself.
  if (isConfirmed) await survey.call(name, holderIdOf(token));
  survey.close();
  return answer(call, name, isConfirmed ? 'released' : 'unknown', null);
}

export async function check(call: Call): Promise<number> {
  const { environment } = call;
  const name = call.words.operands[0] ?? environment.REDLOCK_NAME;
  const token = call.words.textOf('--token') ?? environment.REDLOCK_TOKEN;
  if (!name || !token) {
    throw new UsageError('check: no lock to ask for (call it inside a run of redlock-run, or give NAME and --token)');
  }
  const standing = await standingNow(call, name, token);
  return answer(call, name, standing.kind, standing.kind === 'held' ? standing.remainingMs : null);
}

function ticketOf({ words }: Call): { name: string; token: string } {
  const token = words.textOf('--token');
  if (token === null) throw new UsageError(`${words.row.verb}: --token missing (acquire has printed it)`);
  return { name: words.operands[0] ?? '', token };
}

async function standingNow({ settings, clock }: Call, name: string, token: string): Promise<Standing> {
  const survey = await Survey.of(settings, clock);
  const [testimonies = []] = await survey.testimonies([name]);
  survey.close();
  return standingOf(testimonies, token);
}

type Outcome = 'held' | 'released' | 'lost' | 'unknown';

const codes: Readonly<Record<Outcome, number>> = {
  held: exitCode.ok,
  released: exitCode.ok,
  lost: exitCode.lost,
  unknown: exitCode.unreachable,
};

function answer({ words, print, tell }: Call, name: string, outcome: Outcome, validMs: number | null): number {
  if (words.has('--json')) {
    print(`${JSON.stringify({ name, outcome, validMs: validMs === null ? null : Math.floor(validMs) })}\n`);
  } else if (outcome === 'lost') tell(`lost: ${quoted(name)}: not held with this token any more`);
  else if (outcome === 'unknown') tell(`no quorum: ${quoted(name)}: too few masters answered to tell`);
  else print(`${outcome}: ${quoted(name)}${validMs === null ? '' : `: for another ${roughly(validMs)}`}\n`);
  return codes[outcome];
}
