// `redlockctl hold NAME`: takes a lock and keeps extending it until it is given back: by `release` with its token, by a signal, or because
// the process for which it is held is gone. It runs no command and ends nobody else's. The surprise: who loses the lock can tell nobody
// any more when he works in the background; whoever goes on under it asks with `check`, and the history has a line.

import { quoted } from '../../cli/trouble.ts';
import { parseValue } from '../../lock/holder.ts';
import { renderRecord } from '../../lock/record.ts';
import type { Lease, Redlock } from '../../lock/redlock.ts';
import { holderIdOf } from '../../lock/waiter-id.ts';
import type { Call } from '../call.ts';
import { exitCode } from '../exit-code.ts';
import { attempt, failed, ticketText } from './acquire.ts';
import { askerFor, holderRole, startInBackground } from './background.ts';
import { openRedlock } from './claimant.ts';

/** Between two looks whether the process for which the lock is held is still there. */
const lookMs = 500;

/** released: somebody with the token gave it back. unwanted: nobody is there any more to give it back. */
type End = 'released' | 'told' | 'unwanted' | 'lost';

export async function hold(call: Call): Promise<number> {
  const { words, settings, clock, note, environment, processes, print, tell, interrupted } = call;
  const role = holderRole(environment);
  if (role === null && words.has('--background')) return startInBackground(call);
  const asker = role?.asker ?? askerFor(call);
  const name = words.operands[0] ?? '';
  const ended = AbortSignal.any([interrupted(), ...(role ? [role.abandoned] : [])]);
  const { redlock, close } = await openRedlock(settings, clock);
  const beganAt = clock.now();
  const acquisition = await attempt(call, redlock, ended, 'redlockctl hold');
  if (acquisition.kind !== 'acquired') {
    close();
    return failed(name, acquisition, tell);
  }
  const { lease } = acquisition;
  const acquiredAt = clock.now();
  print(ticketText(call, lease, { pid: note().pid }));
  const isWanted = () => asker === null || processes.isThere(asker);
  const end = (await role?.handOver()) === false ? 'unwanted' : await keep(redlock, lease, call, isWanted, ended);
  const record = renderRecord({
    token: tokenOf(lease),
    ...withoutSince(note()),
    label: 'redlockctl hold',
    ...facts[end],
    waitMs: Math.round(acquiredAt - beganAt),
    heldMs: Math.round(clock.now() - acquiredAt),
    signal: null,
    fence: lease.fence,
    blocker: null,
  });
  await redlock.release(lease.claim, 0, settings.hasHistory ? record : null);
  await redlock.settled();
  close();
  if (end === 'lost' && role === null) tell(`lost: ${quoted(name)}: others may have it; nothing was stopped`);
  return end === 'lost' ? exitCode.lost : exitCode.ok;
}

/** What the history has of each end. */
const facts = {
  released: { outcome: 'ran', exitCode: 0, status: 0 },
  told: { outcome: 'signal', exitCode: null, status: 143 },
  unwanted: { outcome: 'signal', exitCode: null, status: 129 },
  lost: { outcome: 'lost', exitCode: null, status: exitCode.lost },
} as const satisfies Record<End, object>;

/** Resolves when it is over. What is still held then is released by the caller. */
async function keep(
  redlock: Redlock,
  acquired: Lease,
  { clock, settings }: Call,
  isWanted: () => boolean,
  ended: AbortSignal,
): Promise<End> {
  const { ttlMs, masterTimeoutMs } = settings;
  const { claim } = acquired;
  let lease = acquired;
  let nextAt = lease.startedAt + ttlMs / 3;
  const line = await redlock.joinLine({ ...claim, waiter: { id: holderIdOf(tokenOf(lease)), arrivalUs: 0 } });
  try {
    for (;;) {
      const wakeAt = Math.min(nextAt, clock.now() + lookMs);
      await line.pause(Math.max(0, wakeAt - clock.now()), ended);
      const now = clock.now();
      if (ended.aborted) return 'told';
      if (now >= lease.validUntil) return 'lost';
      if (!isWanted()) return 'unwanted';
      const isCalled = now < wakeAt;
      line.forgetCalls();
      if (!isCalled && now < nextAt) continue;
      const extension = await redlock.extend(lease, ended);
      if (extension.kind === 'extended') lease = extension.lease;
      // Who gives it back calls us when it is gone everywhere; nobody else who takes it away does.
      else if (extension.kind === 'lost' && !ended.aborted) return isCalled ? 'released' : 'lost';
      const isProven = extension.kind === 'extended';
      nextAt = isProven ? lease.startedAt + ttlMs / 3 : clock.now() + masterTimeoutMs * (0.25 + 0.25 * Math.random());
    }
  } finally {
    line.close();
  }
}

function tokenOf({ claim }: Lease): string {
  return parseValue(claim.value).token;
}

function withoutSince<Note extends { since: string }>({ since, ...rest }: Note): Omit<Note, 'since'> {
  return rest;
}
