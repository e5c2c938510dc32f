// `redlockctl hold NAME`: acquires a lock and extends it until it is released with its token, a
// signal comes, or the process for which it is held has ended (holder-daemon.ts). It runs no
// command and stops none. A daemon that loses the lock has no terminal to report it on: `check` and
// the history tell.

import { renderRecord } from '../../lock/history-record.ts';
import type { Lease } from '../../lock/redlock.ts';
import { parseValue } from '../../lock/value.ts';
import { exitCode } from '../../text/exit-codes.ts';
import { quoted } from '../../text/quote.ts';
import type { Call } from '../call.ts';
import { failed, partsOf, ticketText, wantedBy } from './acquire.ts';
import { holderRole, ownerFor, startInBackground } from './background.ts';
import { type End, hold as holdLock, type Terms } from './holder-daemon.ts';
import { openRedlock } from './open-redlock.ts';

const label = 'redlockctl hold';

export async function hold(call: Call): Promise<number> {
  const { words, settings, clock, note, environment, processes, print, tell, interrupted } = call;
  const role = holderRole(environment);
  if (role === null && words.has('--background')) return startInBackground(call);
  const owner = role?.owner ?? ownerFor(call);
  const name = words.operands[0] ?? '';
  const ended = AbortSignal.any([interrupted(), ...(role ? [role.abandoned] : [])]);
  const { redlock, listen, close } = await openRedlock(settings, clock);
  const { masterTimeoutMs } = settings;
  const parts = { redlock, ...partsOf(call, label), masterTimeoutMs, listen };
  const isWanted = () => owner === null || processes.isThere(owner);
  const kept = await holdLock(parts, wantedBy(call), {
    isWanted,
    ended,
    handOver: async (lease) => {
      print(ticketText(call, lease, { pid: note().pid }));
      return role === null || role.handOver();
    },
    recordOf: settings.hasHistory ? recordBy(call) : () => null,
  });
  close();
  if (kept.kind === 'not-acquired') {
    if (kept.acquisition.kind === 'aborted' && !isWanted()) {
      tell(`given up: ${quoted(name)}: the process for which it was to be held is gone`);
    }
    return failed(name, kept.acquisition, tell);
  }
  if (kept.end === 'stopped' && role === null)
    tell(`stopped: ${quoted(name)}: a person asked for it; nothing was stopped (see history)`);
  if (kept.end === 'stopped') return exitCode.lost;
  if (kept.end !== 'lost') return exitCode.ok;
  if (role === null) tell(`lost: ${quoted(name)}: others may have it; nothing was stopped`);
  return exitCode.lost;
}

/** The line in the history for each end. */
const facts = {
  released: { outcome: 'ran', exitCode: 0, status: 0 },
  told: { outcome: 'signal', exitCode: null, status: 143 },
  unwanted: { outcome: 'signal', exitCode: null, status: 129 },
  stopped: { outcome: 'stopped', exitCode: null, status: exitCode.lost },
  lost: { outcome: 'lost', exitCode: null, status: exitCode.lost },
} as const satisfies Record<End, object>;

function recordBy({ note }: Call): Terms['recordOf'] {
  return ({ claim, fence }: Lease, end, waitMs, heldMs) => {
    const { host, pid, user } = note();
    return renderRecord({
      token: parseValue(claim.value).token,
      host,
      pid,
      user,
      label,
      ...facts[end],
      waitMs: Math.round(waitMs),
      heldMs: Math.round(heldMs),
      signal: null,
      fence,
      blocker: null,
    });
  };
}
