// Many contenders for one lock at once, in one process: how long until all have had it, in which
// order, and how many commands that takes. Each has connections of its own, made before the clock
// starts. The floor is the work itself and two round trips for each hand-over, measured beside
// each. Peers that poll may be fast and still send many commands, so both are reported.

import { Redis } from 'ioredis';
import { parseAddress } from '../../src/redis/address.ts';
import {
  type Contender,
  ours,
  type Peer,
  redlock4,
  semaphore,
  ttlMs,
  universal,
} from './peers/contenders.ts';
import { quantile } from './rounds.ts';

const workMs = 2;
const counts = [1, 10, 50, 200];
/** So many contenders take the peers minutes; only redlock-run is measured with them. */
const crowd = 1_000;
const roundCount = Number(process.env.CONTENTION_ROUNDS ?? 3);

/** One drain of so many contenders, in comparable units. */
interface Drain {
  readonly floorMs: number;
  readonly drainMs: number;
  readonly handOversMs: readonly number[];
  readonly inversionCount: number;
  /** How many gave up. */
  readonly missedCount: number;
  readonly commands: number;
}

/** One peer with so many contenders: medians over the rounds. */
export interface ContentionRow {
  readonly to_floor: number;
  readonly drain_ms: number;
  readonly floor_ms: number;
  /** null: there was no hand-over. */
  readonly p50: number | null;
  readonly p99: number | null;
  readonly out_of_order: number;
  /**
   * In all rounds together; the other figures are then those of the contenders that did not give
   * up.
   */
  readonly gave_up: number;
  readonly commands: number;
}

/**
 * By the number of contenders, and by name. Peers take turns, so that none has the only warm or
 * busy moment.
 */
export async function contention(
  urls: readonly string[],
): Promise<Record<string, Record<string, ContentionRow>>> {
  const results: Record<string, Record<string, ContentionRow>> = {};
  const watch = urls.map((url) => new Redis({ path: parseAddress(url).path ?? '' }));
  const peers = [ours, redlock4, universal(), semaphore].filter((peer) => peer !== null);
  for (const count of [...counts, crowd]) {
    const drains = new Map<Peer, Drain[]>(
      (count === crowd ? [ours] : peers).map((peer) => [peer, []]),
    );
    for (let round = 0; round < (count === crowd ? 1 : roundCount); round += 1) {
      for (const [peer, all] of drains) all.push(await drainOnce(peer, urls, watch, count));
    }
    const rows = Object.fromEntries([...drains].map(([{ name }, all]) => [name, rowOf(all)]));
    console.log(`\n${count} at once`);
    console.table(rows);
    results[count] = rows;
  }
  for (const client of watch) client.disconnect();
  return results;
}

async function drainOnce(
  peer: Peer,
  urls: readonly string[],
  watch: readonly Redis[],
  count: number,
) {
  for (const client of watch) await client.flushall();
  const contenders = await Promise.all(
    Array.from({ length: count }, (_, index) => peer.join(urls, index)),
  );
  const before = await commandsOf(watch, peer);
  const drained = await drain(contenders);
  const commands = ((await commandsOf(watch, peer)) - before) / urls.length / count;
  for (const contender of contenders) contender.close();
  return { ...drained, floorMs: await floorOf(watch, count), commands };
}

function rowOf(drains: readonly Drain[]): ContentionRow {
  const handOversMs = drains.flatMap((one) => one.handOversMs);
  const median = (of: (drain: Drain) => number) => round(quantile(drains.map(of), 0.5));
  return {
    to_floor: median(({ drainMs, floorMs }) => drainMs / floorMs),
    drain_ms: median(({ drainMs }) => drainMs),
    floor_ms: median(({ floorMs }) => floorMs),
    p50: handOversMs.length === 0 ? null : round(quantile(handOversMs, 0.5)),
    p99: handOversMs.length === 0 ? null : round(quantile(handOversMs, 0.99)),
    out_of_order: median(({ inversionCount }) => inversionCount),
    gave_up: drains.reduce((sum, { missedCount }) => sum + missedCount, 0),
    commands: median(({ commands }) => commands),
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/**
 * The work itself, and a SET and a DEL that a quorum answers, in sequence: the least that any lock
 * takes.
 */
async function floorOf(clients: readonly Redis[], count: number): Promise<number> {
  const quorum = Math.floor(clients.length / 2) + 1;
  const ask = (send: (client: Redis) => Promise<unknown>) =>
    new Promise<void>((resolve) => {
      let answeredCount = 0;
      for (const client of clients) {
        send(client).then(() => {
          answeredCount += 1;
          if (answeredCount === quorum) resolve();
        });
      }
    });
  const startedAt = performance.now();
  for (let index = 0; index < count; index += 1) {
    await ask((client) => client.set('floor', 'us', 'PX', ttlMs, 'NX'));
    await work();
    await ask((client) => client.del('floor'));
  }
  return performance.now() - startedAt;
}

function work(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, workMs));
}

async function drain(contenders: readonly Contender[]) {
  const order: number[] = [];
  const handOversMs: number[] = [];
  let releasedAt: number | null = null;
  const startedAt = performance.now();
  const runs = contenders.map(async ({ take }, index) => {
    const release = await take();
    if (releasedAt !== null) handOversMs.push(performance.now() - releasedAt);
    order.push(index);
    await work();
    releasedAt = performance.now();
    await release();
  });
  const missedCount = (await Promise.allSettled(runs)).filter(
    ({ status }) => status === 'rejected',
  ).length;
  const inversionCount = order.filter(
    (index, position) => position > 0 && index < (order[position - 1] ?? 0),
  ).length;
  return { drainMs: performance.now() - startedAt, handOversMs, inversionCount, missedCount };
}

/** All commands of clients that the masters have run, including those that scripts run. */
async function commandsOf(clients: readonly Redis[], { asksBy }: Peer): Promise<number> {
  const infos = await Promise.all(clients.map((client) => client.info('commandstats')));
  const sent = [
    'eval',
    'evalsha',
    'subscribe',
    'script|load',
    ...(asksBy === 'SET' ? ['set'] : []),
  ];
  return infos.reduce((sum, info) => {
    const calls = [...info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)].filter(([, name = '']) =>
      sent.includes(name),
    );
    return sum + calls.reduce((count, [, , number]) => count + Number(number), 0);
  }, 0);
}
