// The delayed restart of the distlock page, on the client's side: a server that may have forgotten
// a lock must not vote until every lock that it may have forgotten is over. A server that fsyncs
// every change has forgotten nothing and votes at once; only one that answers CONFIG GET is known
// to.

import type { Clock } from '../lock/ports.ts';
import type { Failed } from '../lock/types.ts';
import type { Connection } from './connection.ts';
import { failed, isFailed } from './errors.ts';

/**
 * Resolves with why grants of the server do not count yet, or null. Returns null where that needs
 * no question. `graceMs` 0: grants always count.
 */
export function graceFailureOf(
  connection: Connection,
  graceMs: number,
  clock: Clock,
): Promise<Failed | null> | null {
  const { identified } = connection;
  if (graceMs === 0 || identified === null || isFailed(identified) || identified.startedAt === null)
    return null;
  const agoMs = clock.now() - identified.startedAt;
  return agoMs < graceMs ? unlessDurable(connection, agoMs, graceMs) : null;
}

async function unlessDurable(
  connection: Connection,
  agoMs: number,
  graceMs: number,
): Promise<Failed | null> {
  if (await connection.survivesRestart()) return null;
  const [ago, left] = [agoMs, graceMs - agoMs].map((ms) => Math.ceil(ms / 1000));
  const reason = 'may have forgotten a lock that is still held';
  return failed('restarted', `restarted ${ago} s ago and ${reason}: counts again in ${left} s`);
}
