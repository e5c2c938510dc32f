// Acquire and release in sequence, on open connections: redlock-run, the peers that this machine
// can run, and the floor, each in a process of its own; with more masters, frozen masters, and a
// slow network. Contestants take turns in blocks of cycles, and a ratio is the median of the ratios
// within each turn, so that drift of the machine cancels out.

import { fileURLToPath } from 'node:url';
import { startMasters, type TestMaster } from '../servers/masters.ts';
import { Contestant } from './contestant.ts';
import { canKeepApart, cores, keepTo } from './cores.ts';
import { startDelay } from './delayed.ts';
import { type Installed, installPeers } from './peers/cache.ts';
import { quantile } from './rounds.ts';

export interface Situation {
  readonly masterCount: number;
  readonly frozenCount: number;
  /** To a master and back. */
  readonly delayMs: number;
  /** Masters have one core and clients another. */
  readonly isApart: boolean;
}

/** One contestant in one situation; all times in ms. */
export interface CycleRow {
  readonly to_floor: number | null;
  /** From the tenth to the ninetieth percentile of the turns. */
  readonly spread: readonly [number, number] | null;
  readonly per_second: number | null;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly problem: string | null;
}

const turnCount = Number(process.env.CYCLES_TURNS ?? 30);
const blockCount = 20;
const warmUpCount = 1_000;

const healthy = { frozenCount: 0, delayMs: 0, isApart: false };

const situations: readonly Situation[] = [
  ...(canKeepApart ? [1, 3, 5, 7] : []).map((masterCount) => ({
    ...healthy,
    masterCount,
    isApart: true,
  })),
  ...[1, 3, 5, 7].map((masterCount) => ({ ...healthy, masterCount })),
  ...[
    [3, 1],
    [5, 1],
    [5, 2],
    [7, 2],
  ].map(([masterCount = 0, frozenCount = 0]) => ({ ...healthy, masterCount, frozenCount })),
  ...[3, 5].flatMap((masterCount) =>
    [1, 20].map((delayMs) => ({ ...healthy, masterCount, delayMs })),
  ),
];

export function titleOf({ masterCount, frozenCount, delayMs, isApart }: Situation): string {
  const masters = `${masterCount} master${masterCount === 1 ? '' : 's'}`;
  if (isApart) return `${masters}, on a core of their own`;
  if (frozenCount > 0) return `${masters}, ${frozenCount} frozen`;
  return delayMs > 0 ? `${masters}, ${delayMs} ms away` : masters;
}

export async function cycles(): Promise<Record<string, Record<string, CycleRow>>> {
  const program = fileURLToPath(new URL('peers/program.js', import.meta.url));
  const own = (name: string, word: string): Installed => ({
    name,
    args: [process.execPath, program, word, ''],
  });
  const contestants = [
    own('floor', 'floor'),
    own('the same through ioredis', 'bare-ioredis'),
    own('redlock-run', 'fenced'),
    own('redlock-run, no fence', 'unfenced'),
    ...installPeers(program),
  ];
  const results: Record<string, Record<string, CycleRow>> = {};
  for (const situation of situations) {
    const rows = await measure(situation, contestants);
    console.log(`\n${titleOf(situation)}`);
    console.table(rows);
    results[titleOf(situation)] = rows;
  }
  return results;
}

async function measure(
  { masterCount, frozenCount, delayMs, isApart }: Situation,
  installed: readonly Installed[],
) {
  const masters = await startMasters(masterCount);
  if (isApart)
    for (const pid of masters.flatMap(({ pids }) => [...pids])) keepTo(cores.masters, pid);
  const urls = masters.map(({ url }) => url);
  const delay = delayMs > 0 ? await startDelay(urls, delayMs) : null;
  const contestants = installed.map((one) => new Contestant(one, delay?.urls ?? urls));
  if (isApart) for (const { pid } of contestants) keepTo(cores.clients, pid);
  try {
    return await inBlocks(contestants, masters.slice(0, frozenCount), delayMs);
  } finally {
    for (const contestant of contestants) contestant.close();
    delay?.stop();
    for (const master of masters) await master.stop();
  }
}

/** The masters freeze after all contestants have warmed up, that is, under open connections. */
async function inBlocks(
  contestants: readonly Contestant[],
  toFreeze: readonly TestMaster[],
  delayMs: number,
) {
  const times = contestants.map((): number[][] => []);
  for (const contestant of contestants) await contestant.block(warmUpCount, 1_000);
  for (const master of toFreeze) await master.freeze();
  if (toFreeze.length > 0) for (const contestant of contestants) await contestant.block(1, 1);
  const isSlow = delayMs >= 10;
  for (let turn = 0; turn < (isSlow ? Math.min(turnCount, 6) : turnCount); turn += 1) {
    for (const [index, contestant] of contestants.entries()) {
      // A contestant that takes seconds for a cycle is not asked for another.
      if (turn >= 1 && (times[index]?.[0]?.[0] ?? 0) > 1_000) continue;
      const block = await contestant.block(isSlow ? 5 : blockCount, 400);
      if (block.length > 0) times[index]?.push(block);
    }
  }
  const [floor = []] = times;
  return Object.fromEntries(
    contestants.map(({ name, problem }, index) => [
      name,
      rowOf(times[index] ?? [], floor, problem),
    ]),
  );
}

function rowOf(
  blocks: readonly number[][],
  floor: readonly number[][],
  problem: string | null,
): CycleRow {
  const all = blocks.flat();
  if (all.length === 0) {
    return {
      to_floor: null,
      spread: null,
      per_second: null,
      p50: null,
      p99: null,
      problem: problem ?? 'no cycle',
    };
  }
  const ratios = blocks.map(
    (block, turn) => quantile(block, 0.5) / quantile(floor[turn] ?? [], 0.5),
  );
  return {
    to_floor: round(quantile(ratios, 0.5)),
    spread: [round(quantile(ratios, 0.1)), round(quantile(ratios, 0.9))],
    per_second: Math.round((1000 * all.length) / all.reduce((sum, ms) => sum + ms, 0)),
    p50: round(quantile(all, 0.5)),
    p99: round(quantile(all, 0.99)),
    problem,
  };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
