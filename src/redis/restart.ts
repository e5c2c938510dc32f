// The delayed restart of the distlock page, on the client's side: a server that may have forgotten
// a lock must not vote until every lock that it may have forgotten is over. That is a server that
// has just restarted, unless it fsyncs every change (only one that answers CONFIG GET is known to);
// a replica that was promoted, which lacks what it had not received yet; and another server that
// answers at the same address.

import type { Clock } from '../lock/ports.ts';
import type { Failed } from '../lock/types.ts';
import type { Connection } from './connection/connection.ts';
import { failed, isFailed } from './errors.ts';
import { promotionKeyOf } from './keys.ts';

/**
 * A server counts its uptime in whole seconds of its clock, from the whole second in which it was
 * started. So it may say 1 s when it has run for a moment.
 */
const uptimeErrorMs = 1_000;

export interface DoubtSettings {
  readonly prefix: string;
  /** How long grants do not count; 0: they always do. */
  readonly restartGraceMs: number;
}

/** The master in doubt. */
export interface DoubtfulMaster {
  readonly connection: Connection;
  /** When another server took over its address, by our clock; null: none has. */
  readonly changedAt: number | null;
  readonly clock: Clock;
  /** Whether the master is told when a promotion was first seen; a look changes nothing. */
  readonly isRecording: boolean;
}

/**
 * Resolves with why grants of the server do not count yet, or null. Returns null where that needs
 * no question.
 */
export function graceFailureOf(
  master: DoubtfulMaster,
  { prefix, restartGraceMs }: DoubtSettings,
): Promise<Failed | null> | null {
  const { identified } = master.connection;
  if (restartGraceMs === 0 || identified === null || isFailed(identified)) return null;
  const now = master.clock.now();
  const { startedAt } = identified;
  const agoMs = startedAt === null ? restartGraceMs : Math.max(0, now - startedAt - uptimeErrorMs);
  const changedMs = master.changedAt === null ? restartGraceMs : now - master.changedAt;
  const [isRestarted, isOther] = [agoMs < restartGraceMs, changedMs < restartGraceMs];
  const { hasReplicated } = identified;
  if (!isRestarted && !isOther && !hasReplicated) return null;
  return (async () => {
    const restart = isRestarted ? await unlessDurable(master, agoMs, restartGraceMs) : null;
    const key = promotionKeyOf(prefix);
    const promotion = hasReplicated ? await promoted(master, key, restartGraceMs) : null;
    const change = isOther
      ? graceFailure('took over the address', changedMs, restartGraceMs)
      : null;
    return restart ?? promotion ?? change;
  })();
}

async function unlessDurable(
  { connection }: DoubtfulMaster,
  agoMs: number,
  graceMs: number,
): Promise<Failed | null> {
  if (await connection.survivesRestart()) return null;
  return graceFailure('restarted', agoMs, graceMs);
}

/**
 * A promoted server does not tell when it was promoted, so the first client that sees it records
 * that on the server. The record names the replication id, which is drawn at each promotion.
 */
async function promoted(
  { connection, isRecording }: DoubtfulMaster,
  key: string,
  graceMs: number,
): Promise<Failed | null> {
  const replicationId = await connection.promotedAs();
  if (replicationId === null) return null;
  const seenMs = await connection.firstSeenMs(key, replicationId, isRecording);
  if (isFailed(seenMs)) return seenMs;
  return seenMs < graceMs ? graceFailure('was promoted', seenMs, graceMs) : null;
}

function graceFailure(what: string, agoMs: number, graceMs: number): Failed {
  const [ago, left] = [agoMs, graceMs - agoMs].map((ms) => Math.ceil(ms / 1000));
  const reason = 'may have forgotten a lock that is still held';
  const failure = failed(
    'restarted',
    `${what} ${ago} s ago and ${reason}: counts again in ${left} s`,
  );
  return { ...failure, advice: 'wait that long, see restartGrace' };
}
