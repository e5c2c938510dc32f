// When a lease is extended, when the alarms sound, and with which reason: see
// src/lock/lease-keeper.ts.

import { expect, it, vi } from 'vitest';
import { type KeeperPorts, type LeaseEvent, LeaseKeeper } from '../../../src/lock/lease-keeper.ts';
import { alone, type Extension, type Lease } from '../../../src/lock/types.ts';
import { HandClock, settled } from '../hand-clock.ts';

/** Extended every 3 s, work has to stop at 7 s and to be killed at 9 s, unless it is extended. */
const validMs = 10_000;
const timings = { extendEveryMs: 3_000, masterTimeoutMs: 400, reserveMs: 3_000, marginMs: 1_000 };
const person = { user: 'ann', host: 'desk', pid: 7, note: 'why' };
const unreachable: Extension = { kind: 'unreachable', failures: [] };

function leaseAt(startedAt: number): Lease {
  const claim = {
    ...alone,
    resources: ['x'],
    token: 'token',
    value: 'value',
    ttlMs: validMs,
    isFenced: true,
    waiter: null,
  };
  return { claim, startedAt, validUntil: startedAt + validMs, fence: 1 };
}

const extended = (lease: Lease, replacedBy: string | null = null): Extension => ({
  kind: 'extended',
  lease,
  extendedCount: 3,
  replacedBy,
});

interface Options {
  /** The answer to each extension, asked for at this instant; default: it succeeds. */
  readonly answer?: (askedAt: number, clock: HandClock) => Extension | Promise<Extension>;
  readonly masterTimeoutMs?: number;
  readonly isExtending?: boolean;
  readonly listen?: KeeperPorts['listen'];
}

function lineOf(event: LeaseEvent): string {
  switch (event.kind) {
    case 'confirmed':
      return `confirmed from ${event.lease.startedAt}`;
    case 'lost':
      return `lost: ${event.reason}${event.by ? ` by ${event.by.user}` : ''}`;
    case 'replaced':
      return `replaced by ${event.by}`;
    case 'stop-asked':
      return `asked to stop by ${event.by.user}`;
    case 'kill-due':
      return 'kill';
    case 'bug':
      return `bug: ${(event.bug as Error).message}`;
  }
}

function begun({
  answer,
  masterTimeoutMs = timings.masterTimeoutMs,
  isExtending = true,
  listen = null,
}: Options = {}) {
  const clock = new HandClock();
  const log: string[] = [];
  const say = (what: string) => log.push(`${clock.now()} ${what}`);
  const redlock = {
    extend: async () => {
      say('extend');
      const askedAt = clock.now();
      return answer ? answer(askedAt, clock) : extended(leaseAt(askedAt));
    },
    subscribe: async () => Promise.reject(new Error('not wanted')),
  } as unknown as KeeperPorts['redlock'];
  const report: KeeperPorts['report'] = ({ kind }) => say(kind);
  const ports = { redlock, clock, random: () => 0, report, listen };
  const keeper = new LeaseKeeper(leaseAt(0), { ...timings, masterTimeoutMs }, ports, (event) =>
    say(lineOf(event)),
  );
  keeper.begin(isExtending);
  return { clock, log, keeper };
}

it('extends a third of the ttl after the start of the last confirmed round', async () => {
  const { clock, log, keeper } = begun();
  await clock.moveTo(7_000);
  keeper.end();
  await clock.moveTo(30_000);
  expect(log).toEqual([
    '3000 extend',
    '3000 confirmed from 3000',
    '3000 extended',
    '6000 extend',
    '6000 confirmed from 6000',
    '6000 extended',
  ]);
  expect([keeper.lease.validUntil, keeper.extensionCount]).toEqual([16_000, 2]);
});

it('tries again soon, stops at the reserve, kills at the other, and extends no more', async () => {
  const { clock, log } = begun({ answer: () => unreachable });
  await clock.moveTo(30_000);
  const asked = log
    .filter((line) => line.endsWith(' extend'))
    .map((line) => Number(line.split(' ')[0]));
  expect(asked.slice(0, 3)).toEqual([3_000, 3_100, 3_200]);
  expect(asked.at(-1)).toBe(6_900);
  expect(log.slice(-2)).toEqual(['7000 lost: unreachable', '9000 kill']);
});

it('an extension without a quorum leaves the validity as it was', async () => {
  const { clock, keeper } = begun({ answer: () => unreachable });
  await clock.moveTo(5_000);
  expect(keeper.lease.validUntil).toBe(10_000);
  expect(keeper.extensionCount).toBe(0);
});

it('an answer that never comes delays neither alarm', async () => {
  const { clock, log } = begun({ answer: () => new Promise(() => {}) });
  await clock.moveTo(30_000);
  expect(log).toEqual(['3000 extend', '7000 lost: unreachable', '9000 kill']);
});

it('an extension between the two alarms puts off the second one', async () => {
  const answer = async (askedAt: number, clock: HandClock): Promise<Extension> => {
    if (askedAt > 3_000) return unreachable;
    await clock.sleep(5_000);
    return extended(leaseAt(6_000));
  };
  const { clock, log } = begun({ answer });
  await clock.moveTo(8_000);
  expect(log.slice(1)).toEqual([
    '7000 lost: unreachable',
    '8000 confirmed from 6000',
    '8000 extended',
  ]);
  await clock.moveTo(14_990);
  expect(log).not.toContain('9000 kill');
  await clock.moveTo(15_000);
  expect(log.at(-1)).toBe('15000 kill');
});

it.each([
  ['before stopAt: it is extended', 6_990, ['6990 extend']],
  ['at stopAt: it is not', 7_000, ['7000 lost: unreachable']],
  ['long after it: it was suspended', 7_501, ['7501 lost: suspended']],
])('wakes up %s', async (_, at, expected) => {
  const { clock, log } = begun();
  await clock.leapTo(at);
  expect(log.slice(0, 1)).toEqual(expected);
});

it('kills at once when it wakes up after both alarms', async () => {
  const { clock, log } = begun();
  await clock.leapTo(60_000);
  expect(log).toEqual(['60000 lost: suspended', '60000 kill']);
});

it('ignores an extension older than the known one, and one that ends after extending', async () => {
  const starts = [2_000, 1_000, 2_000, 3_000];
  const { log, keeper } = begun({ answer: () => extended(leaseAt(starts.shift() ?? 0)) });
  for (let count = 0; count < 3; count += 1) await keeper.extend();
  const late = keeper.extend();
  keeper.stopExtending();
  await late;
  expect(log.filter((line) => line.includes('confirmed'))).toEqual(['0 confirmed from 2000']);
  expect(keeper.lease.startedAt).toBe(2_000);
});

it('without extensions any more the alarms still sound', async () => {
  const { clock, log, keeper } = begun();
  keeper.stopExtending();
  await clock.moveTo(30_000);
  expect(log).toEqual(['7000 lost: unreachable', '9000 kill']);
});

it('where the caller extends it, it is never extended', async () => {
  const { clock, log } = begun({ isExtending: false });
  await clock.moveTo(30_000);
  expect(log).toEqual(['7000 lost: unreachable', '9000 kill']);
});

it.each(['taken', 'expired'] as const)('what a quorum says is told: %s', async (reason) => {
  const { clock, log, keeper } = begun({ answer: () => ({ kind: 'lost', reason }) });
  await clock.moveTo(3_000);
  keeper.end();
  expect(log).toEqual(['3000 extend', `3000 lost: ${reason}`]);
});

it('an answer after the end changes nothing', async () => {
  const answer = async (_: number, clock: HandClock): Promise<Extension> => {
    await clock.sleep(500);
    return { kind: 'lost', reason: 'taken' };
  };
  const { clock, log, keeper } = begun({ answer });
  await clock.moveTo(3_100);
  keeper.end();
  await clock.moveTo(30_000);
  expect(log).toEqual(['3000 extend']);
});

it('a bug while extending is told, and the alarms sound all the same', async () => {
  const { clock, log } = begun({ answer: () => Promise.reject(new Error('oops')) });
  await clock.moveTo(30_000);
  expect(log).toEqual(['3000 extend', '3000 bug: oops', '7000 lost: unreachable', '9000 kill']);
});

it('a waiter that a quorum names is reported', async () => {
  const answer = (askedAt: number) => extended(leaseAt(askedAt), 'next');
  const { clock, log, keeper } = begun({ answer });
  await clock.moveTo(3_000);
  keeper.end();
  expect(log.filter((line) => line.includes('replaced'))).toEqual(['3000 replaced by next']);
});

/** A channel, and how the test sends a request on it. */
function listened() {
  const state = { isClosed: false, send: (_: 'stop' | 'broken') => {} };
  const channel = { renew: () => {}, close: () => (state.isClosed = true) };
  const listen: KeeperPorts['listen'] = (_, onRequest) => {
    state.send = (kind) => onRequest({ kind, id: 'id', token: 'token', by: person });
    return channel as unknown as ReturnType<NonNullable<KeeperPorts['listen']>>;
  };
  return { listen, state, request: (kind: 'stop' | 'broken') => state.send(kind) };
}

it('extends once more a second at most, however often the lock is called broken', async () => {
  const { listen, request } = listened();
  const { clock, log, keeper } = begun({ listen });
  await clock.moveTo(500);
  while (clock.now() < 4_000) {
    request('broken');
    await settled();
    await clock.moveTo(clock.now() + 10);
  }
  keeper.end();
  expect(log.filter((line) => line.endsWith(' extend'))).toEqual(
    ['500', '1500', '2500', '3500'].map((at) => `${at} extend`),
  );
});

it('a request that comes soon after another is served a second after it', async () => {
  const { listen, request } = listened();
  const { clock, log, keeper } = begun({ listen });
  for (const at of [500, 600]) {
    await clock.moveTo(at);
    request('broken');
    await settled();
  }
  await clock.moveTo(5_000);
  keeper.end();
  expect(log.filter((line) => line.endsWith(' extend'))).toEqual(
    ['500', '1500', '4500'].map((at) => `${at} extend`),
  );
});

it('listens to operators after a moment, and extends at once when one broke the lock', async () => {
  const { listen, state, request } = listened();
  const answer = (): Extension => ({ kind: 'lost', reason: 'expired' });
  const { clock, log } = begun({ answer, listen });
  await clock.moveTo(240);
  request('stop');
  await clock.moveTo(1_000);
  request('stop');
  await settled();
  request('broken');
  await settled();
  expect(log).toEqual(['1000 asked to stop by ann', '1000 extend', '1000 lost: expired by ann']);
  expect(state.isClosed).toBe(false);
});

it('closes its channel when it extends no more', async () => {
  const { listen, state } = listened();
  const { clock, keeper } = begun({ listen });
  await clock.moveTo(1_000);
  keeper.end();
  expect(state.isClosed).toBe(true);
});

it('makes no signal of others: each would be kept for as long as the lease', async () => {
  const any = vi.spyOn(AbortSignal, 'any');
  const { clock, log, keeper } = begun();
  await clock.moveTo(30_000);
  keeper.end();
  expect(log.filter((line) => line.endsWith(' extend')).length).toBeGreaterThan(5);
  expect(any).not.toHaveBeenCalled();
  any.mockRestore();
});

it.each<[string, Options, readonly number[]]>([
  ['from the last confirmed extension', {}, [7_000, 7_000, 20_000]],
  ['from one whose answer said nothing', { answer: () => unreachable }, [7_000, 7_000, 20_000]],
])('keys stand a ttl %s, or for as long as they are kept', async (_, options, expected) => {
  const { clock, keeper } = begun({ ...options, masterTimeoutMs: 40_000 });
  await clock.moveTo(3_000);
  keeper.stopExtending();
  await clock.moveTo(6_000);
  expect([0, 5_000, 20_000].map((keepMs) => keeper.standsForMs(keepMs))).toEqual(expected);
  await clock.moveTo(60_000);
  expect(keeper.standsForMs(0)).toBe(0);
});
