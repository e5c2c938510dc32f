// The lock itself, for verbs that take or extend one: the same code as redlock-run's, over the masters of the settings. It runs no
// command and extends nothing by itself. The surprise: who extends is another process than who acquired, so all that it knows of
// the lease is what the masters show.

import type { Clock } from '../../lock/ports.ts';
import { Redlock } from '../../lock/redlock.ts';
import { ServerRegistry } from '../../redis/identity.ts';
import { RedisMaster } from '../../redis/redis-master.ts';
import type { CtlSettings } from '../settings.ts';
import { addressesOf, MasterQuery } from '../survey.ts';
import type { Access } from './ticket.ts';

/** A Redlock of its own connections. `close` ends them. */
export async function openRedlock(
  settings: CtlSettings,
  clock: Clock,
): Promise<{ redlock: Redlock; close: () => void }> {
  const { prefix, restartGraceMs, protocol, masterTimeoutMs } = settings;
  const registry = new ServerRegistry();
  const masters = (await addressesOf(settings)).map(
    (address) => new RedisMaster(address, { prefix, restartGraceMs, protocol }, registry, clock),
  );
  const redlock = new Redlock(masters, clock, { masterTimeoutMs, reserveMs: 0 }, () => {});
  const close = () => {
    for (const master of masters) master.close();
  };
  return { redlock, close };
}

export function accessTo(settings: CtlSettings, clock: Clock): Access {
  return {
    clock,
    survey: () => MasterQuery.of(settings, clock),
    redlock: () => openRedlock(settings, clock),
  };
}
