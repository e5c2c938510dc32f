// A Redlock over the masters of the settings, for verbs that acquire or extend a lock: the same
// code as redlock-run's. It runs no command and extends nothing by itself.

import { HolderChannel, type Listen } from '../../lock/holder-channel.ts';
import type { Clock } from '../../lock/ports.ts';
import { Redlock } from '../../lock/redlock.ts';
import { ServerRegistry } from '../../redis/identity.ts';
import { RedisMaster } from '../../redis/redis-master.ts';
import { addressesOf } from '../addresses.ts';
import { MasterQuery } from '../master-query.ts';
import type { CtlSettings } from '../settings.ts';
import type { Access } from './lock-handle.ts';

/** A Redlock with connections of its own, which `close` ends. */
export async function openRedlock(
  settings: CtlSettings,
  clock: Clock,
): Promise<{ redlock: Redlock; listen: Listen; close: () => void }> {
  const { prefix, restartGraceMs, protocol, historyBytes, masterTimeoutMs } = settings;
  const masterSettings = { prefix, restartGraceMs, protocol, historyBytes };
  const registry = new ServerRegistry();
  const masters = (await addressesOf(settings)).map(
    (address) => new RedisMaster(address, masterSettings, registry, clock),
  );
  const redlock = new Redlock(masters, clock, { masterTimeoutMs, reserveMs: 0 }, () => {});
  const close = () => {
    for (const master of masters) master.close();
  };
  const listen: Listen = (...asked) => new HolderChannel(masters, ...asked);
  return { redlock, listen, close };
}

export function accessTo(settings: CtlSettings, clock: Clock): Access {
  return {
    clock,
    query: () => MasterQuery.of(settings, clock),
    redlock: () => openRedlock(settings, clock),
  };
}
