// `redlockctl hold NAME`: acquires a lock and extends it until it is released with its token, a
// signal comes, or the process for which it is held has ended (holder-daemon.ts). It runs no
// command and stops none. A daemon that loses the lock has no terminal to report it on: `check` and
// the history show it.

import os from 'node:os';
import { refuseTimings } from '../../config/rules.ts';
import { renderRun } from '../../lock/history.ts';
import { HolderChannel } from '../../lock/people.ts';
import { isThere } from '../../system/process-table.ts';
import { exitCode } from '../../text/errors.ts';
import { quoted } from '../../text/foreign-text.ts';
import type { Call } from '../call.ts';
import { handleText, holderOf, openRequest, refuse } from './acquire.ts';
import { holderRole, ownerFor, startInBackground } from './background.ts';
import { type End, type HoldRequest, hold as holdLock } from './holder-daemon.ts';

const label = 'redlockctl hold';

export async function hold(call: Call): Promise<number> {
  const { args, settings, environment, print, tell } = call;
  const role = holderRole(environment);
  refuseTimings(settings, true, settings.timingPlaces);
  if (role === null && args.has('--background')) return startInBackground(call);
  const owner = role?.owner ?? ownerFor(call);
  const ended = AbortSignal.any([call.interrupted(), ...(role ? [role.abandoned] : [])]);
  // Nothing of a daemon is read once its token has been printed.
  let isRead = true;
  const tellReader = (line: string) => {
    if (isRead) tell(line);
  };
  const { request, masters, close } = await openRequest(
    call,
    label,
    ended,
    tellReader,
    owner?.pid ?? null,
  );
  const isWanted = () => owner === null || isThere(owner);
  const kept = await holdLock({
    ...request,
    timings: settings,
    listen: (...asked) => new HolderChannel(masters, ...asked),
    isWanted,
    handOver: async (lease) => {
      print(handleText(call, lease, { pid: call.holderRecord().pid }));
      isRead = role === null;
      return role === null || role.handOver();
    },
    lineOfEnd: settings.hasHistory ? lineBy(call, ended) : () => null,
  });
  await close();
  const name = quoted(args.name);
  if (kept.kind === 'not-acquired') {
    if (kept.acquisition.kind === 'aborted' && !isWanted())
      tell(`aborted: ${name}: the process for which it was to be held has ended`);
    return refuse(call, kept.acquisition);
  }
  const isSeen = role === null;
  if (isSeen && kept.end === 'stopped')
    tell(`stopped: ${name}: a person asked for it; nothing was stopped (see history)`);
  if (isSeen && kept.end === 'lost') tell(`lost: ${name}: others may have it; nothing was stopped`);
  return kept.end === 'stopped' || kept.end === 'lost' ? exitCode.lost : exitCode.ok;
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
  return ({ claim, fence }, end, waitMs, heldMs) => {
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
