// redlock-run's own lock, cycle after cycle in one process, without its command line, its run and
// its guard. Stragglers are known only after a round, so the first release beside a frozen master
// waits for it once.

import { randomUUID } from 'node:crypto';
import { defaultDriftFactor } from '../../../src/lock/quorum.ts';
import { Redlock } from '../../../src/lock/redlock.ts';
import { alone } from '../../../src/lock/types.ts';
import { parseAddress } from '../../../src/redis/address.ts';
import { defaultHistoryBytes } from '../../../src/redis/calls/script-calls.ts';
import { ServerRegistry } from '../../../src/redis/identity.ts';
import { Server } from '../../../src/redis/server.ts';
import { createPlainClock } from '../../../src/system/clock.ts';
import { type Cycle, callTimeoutMs, ttlMs } from './npm.ts';

export function ours(isFenced: boolean, urls: readonly string[]): Cycle {
  const clock = createPlainClock();
  const registry = new ServerRegistry();
  const settings = {
    prefix: '',
    restartGraceMs: 0,
    historyBytes: defaultHistoryBytes,
    protocol: 'redlock' as const,
  };
  const masters = urls.map(
    (url) => new Server(parseAddress(url), settings, registry, clock, 'lock'),
  );
  const redlock = new Redlock(
    masters,
    clock,
    { masterTimeoutMs: callTimeoutMs, reserveMs: 0, driftFactor: defaultDriftFactor },
    () => {},
  );
  const resources = [isFenced ? 'fenced' : 'unfenced'];
  const { sharing, preemptible } = alone;
  return async () => {
    const value = randomUUID();
    const own = { resources, token: value, value, ttlMs, isFenced };
    const claim = { ...own, sharing, preemptible, waiter: null };
    const attempt = await redlock.attempt(claim, new AbortController().signal);
    if (attempt.kind !== 'acquired') throw new Error(`${attempt.kind}`);
    await redlock.releaseOnQuorum(claim);
  };
}
