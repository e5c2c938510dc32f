// What becomes of a bug while a lock is held for another process: see
// src/ctl/steps/holder-daemon.ts. How it holds and releases is tested by the simulator.

import { expect, it } from 'vitest';
import { type HolderDaemonParts, hold } from '../../../../src/ctl/steps/holder-daemon.ts';
import { alone } from '../../../../src/lock/types.ts';
import { HandClock } from '../../hand-clock.ts';

it('a bug while it extends ends it with that error, and the alarms do not hide it', async () => {
  const clock = new HandClock();
  const redlock = {
    attempt: async ({ ttlMs }: { ttlMs: number }) => {
      const lease = { claim: { value: 'token {}', ttlMs }, startedAt: 0, validUntil: ttlMs };
      return { kind: 'acquired', lease };
    },
    subscribe: async () => ({
      pause: (ms: number, over: AbortSignal) => clock.sleep(ms, over),
      isWoken: false,
      close: () => {},
    }),
    extend: () => Promise.reject(new Error('oops')),
  };
  const parts = {
    redlock: redlock as unknown as HolderDaemonParts['redlock'],
    servers: [],
    report: () => {},
    clock,
    random: () => 0,
    newToken: () => 'token',
    holderRecord: () => ({ host: 'desk', pid: 7, user: 'ann', since: '', label: '' }),
    waiterIdOf: (id: string) => id,
    listen: null,
    masterTimeoutMs: 100,
  };
  const wanted = {
    name: 'x',
    ttlMs: 3_000,
    waitMs: 0,
    giveUpAfterMs: 0,
    isFenced: false,
    sharing: alone.sharing,
  };
  const holding = hold(parts, wanted, {
    isWanted: () => true,
    ended: new AbortController().signal,
    handOver: async () => true,
    lineOf: () => null,
  });
  const outcome = holding.then(
    () => 'held',
    (error: Error) => error.message,
  );
  await clock.moveTo(2_000);
  expect(await outcome).toBe('oops');
});
