// The delayed restart of the distlock page, on the client's side: a server that may have forgotten
// a lock must not vote until every lock that it may have forgotten is over. That is a server that
// has just restarted, unless it fsyncs every change (only one that answers CONFIG GET is known to)
// and still has its mark from before; one whose mark is new, so that it came empty; a replica that
// was promoted, which lacks what it had not received yet; and another server that answers at the
// same address. *Note:* the grace is one setting, so a lock with a longer ttl is not kept by it.

import type { Clock } from '../lock/ports.ts';
import type { Failed } from '../lock/types.ts';
import { callOf } from './calls/script-calls.ts';
import type { Connection } from './connection/connection.ts';
import { failed, isFailed } from './errors.ts';
import type { Mark, ServerRegistry } from './identity.ts';
import { beside, type Protocol } from './keys.ts';

/**
 * A server counts its uptime in whole seconds of its clock, from the whole second in which it was
 * started. So it may report 1 s when it has run for a moment.
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

/** Whether servers are marked: for a restart grace, where the protocol has room for a mark. */
export function areMarked(restartGraceMs: number, protocol: Protocol): boolean {
  return restartGraceMs > 0 && !protocol.startsWith('setnx');
}

/** The master that is checked for a restart. */
export interface CheckedMaster {
  readonly connection: Connection;
  readonly name: string;
  readonly registry: ServerRegistry;
  readonly clock: Clock;
  /** Whether the time of a promotion is recorded on the master; a look changes nothing. */
  readonly mayWrite: boolean;
  readonly prefix: string;
  /** How long grants do not count; 0: they always do. */
  readonly restartGraceMs: number;
}

/**
 * Resolves with why grants of the server do not count yet, or null. Returns null where that needs
 * no question.
 */
export function restartFailureOf(master: CheckedMaster): Promise<Failed | null> | null {
  const { connection, name, registry, clock, restartGraceMs } = master;
  const { identified } = connection;
  if (restartGraceMs === 0 || identified === null || isFailed(identified)) return null;
  const { startedAt, hasReplicated, mark } = identified;
  const changedAt = registry.changedAt(name);
  const now = clock.now();
  const young = (ms: number) => (ms < restartGraceMs ? ms : null);
  const upMs = startedAt === null ? null : Math.max(0, now - startedAt - uptimeErrorMs);
  const restartedMs = upMs === null ? null : young(upMs);
  const changedMs = changedAt === null ? null : young(now - changedAt);
  const markedMs = mark === null ? null : young(now - mark.since);
  if ([restartedMs, changedMs, markedMs].every((ms) => ms === null) && !hasReplicated) return null;
  return (async () => {
    const emptied =
      mark && markedMs !== null
        ? await emptiedFailure(master, mark, markedMs, restartedMs, startedAt)
        : null;
    if (emptied) return emptied;
    const isForgetful = restartedMs !== null && !(await connection.survivesRestart());
    const restart = isForgetful ? agoFailure('restarted', restartedMs, restartGraceMs) : null;
    const promotion = hasReplicated ? await promotionFailure(master) : null;
    const change =
      changedMs === null ? null : agoFailure('took over the address', changedMs, restartGraceMs);
    return restart ?? promotion ?? change;
  })();
}

/**
 * The failure of a server with a new mark. One that has run for long still votes where no other
 * master has an older mark: then these marks are the first ones.
 */
async function emptiedFailure(
  { name, registry, clock, restartGraceMs }: CheckedMaster,
  mark: Mark,
  markedMs: number,
  restartedMs: number | null,
  startedAt: number | null,
): Promise<Failed | null> {
  const found = `was found without its mark ${seconds(markedMs)} ago`;
  const how = mark.id === null ? 'without its mark' : `and ${found}`;
  const what =
    restartedMs === null
      ? found
      : `restarted ${seconds(restartedMs)} ago ${how} (it is new, or was emptied)`;
  // The time without a vote begins with the mark, and only a run writes one.
  const failure =
    mark.id === null
      ? forgetting(what, `${seconds(restartGraceMs)} of the next run`, howLong)
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

/**
 * A server does not report when it was promoted, so the first client that sees it writes the time
 * into a key there. It names the replication id, which is drawn at each promotion.
 */
async function promotionFailure({
  connection,
  mayWrite,
  prefix,
  restartGraceMs,
}: CheckedMaster): Promise<Failed | null> {
  const replicationId = await connection.promotedAs();
  if (replicationId === null || isFailed(replicationId)) return replicationId;
  const args = { id: replicationId, isWriting: mayWrite ? 1 : 0 };
  const seenMs = await connection.eval(callOf('promoted', [beside(prefix, 'promotion')], args));
  if (isFailed(seenMs)) return seenMs;
  if (typeof seenMs !== 'number') return failed('reply', 'an unexpected reply to a script');
  return seenMs < restartGraceMs ? agoFailure('was promoted', seenMs, restartGraceMs) : null;
}

const howLong = 'it is the restartGrace, or else the ttl';

function agoFailure(what: string, agoMs: number, restartGraceMs: number): Failed {
  return waitFailure(`${what} ${seconds(agoMs)} ago`, restartGraceMs - agoMs);
}

function waitFailure(what: string, leftMs: number): Failed {
  return forgetting(what, seconds(leftMs), `wait that long: ${howLong}`);
}

function forgetting(what: string, within: string, advice: string): Failed {
  const why = 'may have forgotten a lock that is still held';
  return failed('restarted', `${what} and ${why}: counts again within ${within}`, advice);
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
