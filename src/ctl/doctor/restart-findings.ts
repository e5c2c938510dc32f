// The checks of one master for what it forgets: over a restart, and with another disk. Persistence
// and the restart grace are one check, because either makes up for the other; the mark tells
// whether the data of the server is that of before. Pure.

import { sameMomentMs } from '../../redis/identity.ts';
import { uptimeErrorMs } from '../../redis/restart.ts';
import { roughly } from '../../text/lines.ts';
import type { MasterFacts } from './facts.ts';
import { type Check, type Circumstances, grantConfig, grantInfo, redisCli } from './findings.ts';

/** Whether a server is new or was emptied, so that its votes do not count: redis/restart.ts. */
function isEmptied(
  { mark, uptimeMs }: MasterFacts,
  { isMarked, oldestMarkMs, restartGraceMs }: Circumstances,
): boolean {
  const forMs = mark?.forMs ?? 0;
  if (!isMarked || mark === null || forMs >= restartGraceMs) return false;
  return uptimeMs === null || uptimeMs < restartGraceMs || oldestMarkMs - forMs > sameMomentMs;
}

/** Whether its votes do not count yet: what it may have forgotten may still be held. */
export function isWaitedFor(facts: MasterFacts, circumstances: Circumstances): boolean {
  const { isAppending, fsync, uptimeMs } = facts;
  const isYoung = uptimeMs !== null && uptimeMs < circumstances.restartGraceMs;
  const isDurable = isAppending && fsync === 'always';
  return isEmptied(facts, circumstances) || (isYoung && !isDurable);
}

export const mark: Check = (facts, circumstances) => {
  if (!circumstances.isMarked) return ['ok', 'needs no mark: there is no restart grace'];
  if (facts.mark === null) {
    const why = 'a server that was emptied, and says that it keeps everything, votes at once';
    return ['unknown', 'does not show its mark', why, 'redlockctl acl prints the rules'];
  }
  const { forMs } = facts.mark;
  if (!isEmptied(facts, circumstances)) {
    if (forMs === null) return ['ok', 'is marked by the next run'];
    const { oldestMarkMs } = circumstances;
    const isYounger = oldestMarkMs - forMs > sameMomentMs;
    const before = `: it was new, empty or down before (the oldest: ${roughly(oldestMarkMs)} ago)`;
    return ['ok', `marked ${roughly(forMs)} ago${isYounger ? before : ''}`];
  }
  const isLost = circumstances.oldestMarkMs - (forMs ?? 0) > sameMomentMs;
  const what = isLost ? 'has lost its mark, or is new' : 'is new, or was emptied with the others';
  const why = 'it may have forgotten a lock that is still held';
  const { restartGraceMs } = circumstances;
  // The next run marks it, and the time without a vote begins with the mark.
  if (forMs === null) {
    const when = `votes within ${roughly(restartGraceMs)} of the next run`;
    return ['warning', `${what}: ${when}`, why, 'start a run: it waits for that'];
  }
  return ['warning', `${what}: does not vote for ${roughly(restartGraceMs - forMs)}`, why, 'wait'];
};

export const restart: Check = (facts, circumstances) => {
  const { isAppending, fsync, uptimeMs, address } = facts;
  const { restartGraceMs, isLocal } = circumstances;
  if (isAppending && fsync === 'always') {
    if (isEmptied(facts, circumstances)) return ['ok', 'keeps every change from now on'];
    // Older than its last start: what it says about its disk has been shown.
    const isShown = uptimeMs !== null && (facts.mark?.forMs ?? 0) > uptimeMs + uptimeErrorMs;
    const what = 'keeps every change over a restart';
    return ['ok', isShown ? `${what}, as its mark shows` : `says that it ${what}`];
  }
  if (restartGraceMs > 0) {
    if (uptimeMs === null) {
      const why = 'the restart grace works only where the server tells since when it runs';
      return ['unknown', 'does not tell since when it runs', why, grantInfo];
    }
    if (uptimeMs >= restartGraceMs)
      return ['ok', `does not vote for ${roughly(restartGraceMs)} after a restart`];
    const rest = roughly(restartGraceMs - uptimeMs);
    const message = `restarted ${roughly(uptimeMs)} ago: does not vote for another ${rest}`;
    return ['warning', message, 'it may have forgotten a lock that is still held', 'wait'];
  }
  const why =
    'a master that restarts empty, or without its last second, grants a lock that is still held';
  if (isLocal)
    return [
      'warning',
      'forgets all locks when it is ended',
      why,
      'use masters of your own where it matters',
    ];
  // Two pairs in one CONFIG SET need version 7.
  const durable = redisCli(address, 'CONFIG SET appendfsync always', 'CONFIG SET appendonly yes');
  const fix = `set restartGrace to the longest ttl in use, or ${durable}`;
  if (isAppending === null || (isAppending && fsync === null)) {
    return [
      'unknown',
      'does not tell whether a restart forgets locks',
      why,
      `${grantConfig}, or set restartGrace`,
    ];
  }
  return [
    'error',
    isAppending ? `appendfsync is ${fsync}` : 'keeps nothing over a restart',
    why,
    fix,
  ];
};
