// The delayed restart of the distlock page, on the client's side: a server that may have forgotten
// a lock must not vote until every lock that it may have forgotten is over. That is a server that
// has just restarted, unless it fsyncs every change (only one that answers CONFIG GET is known to)
// and still has its mark from before; one whose mark is new, so that it came empty; a replica that
// was promoted, which lacks what it had not received yet; and another server that answers at the
// same address. *Note:* the grace is one setting, so a lock with a longer ttl is not kept by it.

import type { Clock } from '../lock/ports.ts';
import type { Failed } from '../lock/types.ts';
import type { Protocol } from './calls/protocol.ts';
import type { Connection } from './connection/connection.ts';
import { failed, isFailed } from './errors.ts';
import type { ServerIdentity, ServerRegistry } from './identity.ts';
import { promotionKeyOf } from './keys.ts';

/**
 * A server counts its uptime in whole seconds of its clock, from the whole second in which it was
 * started. So it may say 1 s when it has run for a moment.
 */
export const uptimeErrorMs = 1_000;

/** How long a vote waits for the marks of the other masters; a round is hardly ever longer. */
const othersWaitMs = 2_000;

/**
 * The grace where none is set: a ttl. None with fewer than three masters: no majority is left
 * without the one that restarted. But a primary behind sentinels is replaced by another one, which
 * may have forgotten locks.
 */
export function defaultRestartGraceMs(masters: readonly object[], ttlMs: number): number {
  const isReplaced = (one: { readonly sentinels?: unknown }) => Boolean(one.sentinels);
  return masters.length >= 3 || masters.some(isReplaced) ? ttlMs : 0;
}

/** The master that is checked for a restart. */
export interface CheckedMaster {
  readonly connection: Connection;
  readonly name: string;
  readonly registry: ServerRegistry;
  readonly clock: Clock;
  /** Whether the master is told when a promotion was first seen; a look changes nothing. */
  readonly mayWrite: boolean;
  readonly prefix: string;
  /** How long grants do not count; 0: they always do. */
  readonly restartGraceMs: number;
}

/** What the identity of a server tells that may be a reason for its restart grace. */
interface GraceReasons {
  readonly restartedMs: number | null;
  readonly changedMs: number | null;
  /** For how long its mark has stood, if that is less than the grace. */
  readonly markedMs: number | null;
  readonly hasReplicated: boolean;
}

/** Whether servers are marked: for a restart grace, where the protocol has room for a mark. */
export function areMarked(restartGraceMs: number, protocol: Protocol): boolean {
  return restartGraceMs > 0 && !protocol.startsWith('setnx');
}

/**
 * Resolves with why grants of the server do not count yet, or null. Returns null where that needs
 * no question.
 */
export function restartFailureOf(master: CheckedMaster): Promise<Failed | null> | null {
  const { restartGraceMs } = master;
  const { identified } = master.connection;
  if (restartGraceMs === 0 || identified === null || isFailed(identified)) return null;
  const reasons = graceReasonsOf(master, identified);
  const { restartedMs, changedMs, markedMs, hasReplicated } = reasons;
  if ([restartedMs, changedMs, markedMs].every((ms) => ms === null) && !hasReplicated) return null;
  return (async () => {
    const emptied = await emptiedFailure(master, identified, reasons);
    if (emptied) return emptied;
    const restart = restartedMs === null ? null : await unlessDurable(master, restartedMs);
    const promotion = hasReplicated ? await promoted(master) : null;
    const change =
      changedMs === null ? null : agoFailure('took over the address', changedMs, restartGraceMs);
    return restart ?? promotion ?? change;
  })();
}

function graceReasonsOf(
  { name, registry, clock, restartGraceMs }: CheckedMaster,
  { startedAt, hasReplicated, mark }: ServerIdentity,
): GraceReasons {
  const now = clock.now();
  const young = (ms: number | null) => (ms !== null && ms < restartGraceMs ? ms : null);
  const changedAt = registry.changedAt(name);
  return {
    restartedMs: young(startedAt === null ? null : Math.max(0, now - startedAt - uptimeErrorMs)),
    changedMs: young(changedAt === null ? null : now - changedAt),
    markedMs: young(mark === null ? null : now - mark.since),
    hasReplicated,
  };
}

/**
 * The failure of a server with a new mark. One that has run for long votes all the same, where no
 * other master has an older mark: then these marks are the first ones.
 */
async function emptiedFailure(
  { name, registry, clock, restartGraceMs }: CheckedMaster,
  { startedAt, mark }: ServerIdentity,
  { markedMs, restartedMs }: GraceReasons,
): Promise<Failed | null> {
  if (mark === null || markedMs === null) return null;
  const found = `was found without its mark ${seconds(markedMs)} ago`;
  const how = mark.id === null ? 'without its mark' : `and ${found}`;
  const what =
    restartedMs === null
      ? found
      : `restarted ${seconds(restartedMs)} ago ${how} (it is new, or was emptied)`;
  const failure =
    mark.id === null
      ? unmarkedFailure(what, restartGraceMs)
      : waitFailure(what, restartGraceMs - markedMs);
  if (restartedMs !== null || startedAt === null) return failure;
  const enough = new AbortController();
  let isLate = false;
  const waiting = clock.sleep(othersWaitMs, enough.signal).then(() => {
    isLate = true;
  });
  while (registry.hasOlderMark(name, mark) === null && !isLate)
    await Promise.race([registry.nextMark(), waiting]);
  enough.abort();
  return registry.hasOlderMark(name, mark) === false ? null : failure;
}

async function unlessDurable(
  { connection, restartGraceMs }: CheckedMaster,
  agoMs: number,
): Promise<Failed | null> {
  if (await connection.survivesRestart()) return null;
  return agoFailure('restarted', agoMs, restartGraceMs);
}

/**
 * A promoted server does not tell when it was promoted, so the first client that sees it writes
 * the time into a key there. It names the replication id, which is drawn at each promotion.
 */
async function promoted({
  connection,
  mayWrite,
  prefix,
  restartGraceMs,
}: CheckedMaster): Promise<Failed | null> {
  const replicationId = await connection.promotedAs();
  if (replicationId === null || isFailed(replicationId)) return replicationId;
  const seenMs = await connection.firstSeenMs(promotionKeyOf(prefix), replicationId, mayWrite);
  if (isFailed(seenMs)) return seenMs;
  return seenMs < restartGraceMs ? agoFailure('was promoted', seenMs, restartGraceMs) : null;
}

function agoFailure(what: string, agoMs: number, restartGraceMs: number): Failed {
  return waitFailure(`${what} ${seconds(agoMs)} ago`, restartGraceMs - agoMs);
}

function waitFailure(what: string, leftMs: number): Failed {
  const why = `${what} and ${forgetting}: counts again within ${seconds(leftMs)}`;
  return failed('restarted', why, `wait that long: ${howLong}`);
}

/** The time without a vote begins with the mark, and only a run writes one. */
function unmarkedFailure(what: string, restartGraceMs: number): Failed {
  const within = `${seconds(restartGraceMs)} of the next run`;
  const why = `${what} and ${forgetting}: counts again within ${within}`;
  return failed('restarted', why, howLong);
}

const howLong = 'it is the restartGrace, or else the ttl';
const forgetting = 'may have forgotten a lock that is still held';

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
