// `redlockctl hold NAME`: acquires a lock and extends it until it is released with its token, a
// signal comes, or the process for which it is held has ended (holder-daemon.ts). It runs no
// command and stops none. A daemon that loses the lock has no terminal to report it on: `check` and
// the history tell.

import os from 'node:os';
import { renderRun } from '../../lock/history.ts';
import type { Lease } from '../../lock/types.ts';
import { isThere } from '../../system/process-table.ts';
import { exitCode } from '../../text/errors.ts';
import { quoted } from '../../text/foreign-text.ts';
import type { Call } from '../call.ts';
import { checkTimings, failed, handleText, holderOf, nameOf, requestOf } from './acquisition.ts';
import { holderRole, ownerFor, startInBackground } from './background.ts';
import { type End, type HoldRequest, hold as holdLock } from './holder-daemon.ts';
import { openRedlock } from './opened-redlock.ts';

const label = 'redlockctl hold';

export async function hold(call: Call): Promise<number> {
  const { args, settings, holderRecord, environment, print, tell, interrupted } = call;
  const role = holderRole(environment);
  checkTimings(call, true);
  if (role === null && args.has('--background')) return startInBackground(call);
  const owner = role?.owner ?? ownerFor(call);
  const name = nameOf(call);
  const ended = AbortSignal.any([interrupted(), ...(role ? [role.abandoned] : [])]);
  // Nothing of a daemon is read once its token has been printed.
  let isRead = true;
  const { close, endNotice, listen, ...opened } = await openRedlock(call, (line) => {
    if (isRead) tell(line);
  });
  const isWanted = () => owner === null || isThere(owner);
  const kept = await holdLock({
    ...requestOf(call, opened, label, ended, owner?.pid),
    timings: settings,
    listen,
    isWanted,
    handOver: async (lease) => {
      print(handleText(call, lease, { pid: holderRecord().pid }));
      isRead = role === null;
      return role === null || role.handOver();
    },
    lineOfEnd: settings.hasHistory ? lineBy(call, ended) : () => null,
  });
  endNotice();
  await close();
  if (kept.kind === 'not-acquired') {
    if (kept.acquisition.kind === 'aborted' && !isWanted()) {
      tell(`aborted: ${quoted(name)}: the process for which it was to be held has ended`);
    }
    return failed(name, kept.acquisition, call);
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
  unwanted: { outcome: 'unwanted', exitCode: null, status: 0 },
  stopped: { outcome: 'stopped', exitCode: null, status: exitCode.lost },
  lost: { outcome: 'lost', exitCode: null, status: exitCode.lost },
} as const satisfies Record<End, object>;

function lineBy(call: Call, ended: AbortSignal): HoldRequest['lineOfEnd'] {
  return ({ claim, fence }: Lease, end, waitMs, heldMs) => {
    const { since, ...holder } = holderOf(call, label);
    const number = os.constants.signals[ended.reason as NodeJS.Signals];
    return renderRun({
      token: claim.token,
      ...holder,
      ...facts[end],
      ...(end === 'told' && number ? { status: 128 + number } : {}),
      waitMs: Math.round(waitMs),
      heldMs: Math.round(heldMs),
      fence,
    });
  };
}
