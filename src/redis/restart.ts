// The delayed restart of the distlock page, done from our side: a server that may have forgotten a lock must not vote until every
// lock it may have forgotten is over. The surprise: one that fsyncs every change has forgotten nothing and votes at once, but only
// a server that answers CONFIG GET can be known to.

import type { Clock, Failed } from '../lock/ports.ts';
import type { Connection } from './connection.ts';
import { failed, isFailed } from './trouble.ts';

/** Why grants of the server do not count yet, or null. `graceMs` 0: they always do. */
export async function doubtAbout(connection: Connection, graceMs: number, clock: Clock): Promise<Failed | null> {
  if (graceMs === 0) return null;
  const identity = await connection.identity;
  if (isFailed(identity) || identity.startedAt === null) return null;
  const agoMs = clock.now() - identity.startedAt;
  if (agoMs >= graceMs || (await connection.survivesRestart())) return null;
  const [ago, left] = [agoMs, graceMs - agoMs].map((ms) => Math.ceil(ms / 1000));
  const reason = 'may have forgotten a lock that is still held';
  return failed('restarted', `restarted ${ago} s ago and ${reason}: counts again in ${left} s`);
}
