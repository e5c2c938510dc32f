// Twenty waiters, and for twenty seconds random kills: the holder, the first waiter, any waiter,
// two of the five masters. Never two inside, never a gap that is much longer than a ttl, and
// nothing is left. A lock of the kernel shows that jobs do not overlap, independently of
// redlock-run.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { CliRun } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const ttlMs = 4_000;
/** No job for so long is too long: what a dead holder has kept, and the start of the next one. */
const gapMs = ttlMs + generous(1_000);
const waiterCount = 20;
const lastsMs = Number(process.env.KILLS_MS ?? 20_000);
const critical = fileURLToPath(new URL('fixtures/critical.sh', import.meta.url));

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

/** What a job writes when it begins or ends. */
interface JobLine {
  readonly what: string;
  readonly fence: number;
  readonly atMs: number;
}

function linesOf(log: string): JobLine[] {
  return readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([what = '', fence, at]) => ({
      what,
      fence: Number(fence),
      atMs: Number(at) / 1e6,
    }));
}

/** Runs that wait for one lock; for each that ends another one comes. */
class Crowd {
  /** In the order in which they came. */
  readonly running: CliRun[] = [];
  readonly #all: CliRun[] = [];
  readonly #masters: readonly TestMaster[];
  readonly #log: string;
  #isOpen = true;

  constructor(masters: readonly TestMaster[], log: string) {
    this.#masters = masters;
    this.#log = log;
    for (let count = 0; count < waiterCount; count += 1) this.#join();
  }

  #join(): void {
    const args = ['--ttl', `${ttlMs}ms`, '-k', '300ms', 'kills', '--', 'bash', critical, this.#log];
    const env = {
      REDLOCK_MASTERS: this.#masters.map(({ url }) => url).join(','),
      REDLOCK_RESTART_GRACE: `${ttlMs}ms`,
    };
    const run = new CliRun(args, { env, timeoutMs: lastsMs + 60_000 });
    this.running.push(run);
    this.#all.push(run);
    run.child.once('exit', () => {
      this.running.splice(this.running.indexOf(run), 1);
      if (this.#isOpen) this.#join();
    });
  }

  close(): void {
    this.#isOpen = false;
  }

  async end(): Promise<void> {
    for (const run of [...this.running]) run.signal('SIGTERM');
    for (const run of this.#all) await run.result;
  }
}

/** next: the one that has waited longest. */
type Victim = 'holder' | 'next' | 'any';
/** One of each first, so that none is left to chance alone. */
const firstVictims: readonly Victim[] = ['holder', 'next', 'any'];

function victimByChance(): Victim {
  const roll = Math.random();
  if (roll < 0.35) return 'holder';
  return roll < 0.75 ? 'next' : 'any';
}

/** The runs that the keys name: of a job itself, the guard is the parent. */
async function holdersOn(masters: readonly TestMaster[]): Promise<number[]> {
  const values = await Promise.all(
    masters.map((master) => master.get('redlock:kills').catch(() => null)),
  );
  return values.flatMap((value) => {
    const pid = /"pid":(\d+),/.exec(value ?? '')?.[1];
    return pid === undefined ? [] : [Number(pid)];
  });
}

/** Kills by chance until the time is over. Returns how often, and when a run died with the key. */
async function killAround({ running }: Crowd, masters: readonly TestMaster[]) {
  const began = Date.now();
  const kills = { holder: 0, next: 0, any: 0, masters: 0 };
  const holderKills: number[] = [];
  const first = [...firstVictims];
  /** A run that has the key keeps it until it expires, whether its job has begun or not. */
  const kill = async (run: CliRun) => {
    run.signal('SIGKILL');
    if ((await holdersOn(masters)).includes(run.pid)) holderKills.push(Date.now());
  };
  let mastersDue = began + 5_000;
  while (Date.now() - began < lastsMs) {
    await sleep(300 + Math.random() * 700);
    const holders = await holdersOn(masters);
    const waiting = running.filter(({ pid }) => !holders.includes(pid));
    if (Date.now() > mastersDue) {
      mastersDue = Date.now() + 10_000;
      kills.masters += 1;
      const [one, other] = [...masters].sort(() => Math.random() - 0.5);
      await Promise.all([one?.kill(), other?.kill()]);
      void sleep(1_000).then(() => Promise.all([one?.restart(), other?.restart()]));
      continue;
    }
    const victim = first[0] ?? victimByChance();
    const victims = {
      holder: running.find(({ pid }) => holders.includes(pid)),
      next: waiting[0],
      any: waiting[Math.floor(Math.random() * waiting.length)],
    };
    const run = victims[victim];
    if (run === undefined) continue;
    first.shift();
    kills[victim] += 1;
    await kill(run);
  }
  return { kills, holderKills };
}

/** No job ran from the end of a job, or the kill of its run, until the next one began. */
function longestGapMs(seen: readonly JobLine[], holderKills: readonly number[], endedAt: number) {
  const left = [
    ...seen.filter(({ what }) => what === 'end').map(({ atMs }) => atMs),
    ...holderKills,
  ];
  const gaps = seen
    .filter(({ what, atMs }) => what === 'begin' && atMs < endedAt)
    .map(({ atMs }) => atMs - Math.max(...left.filter((at) => at < atMs)))
    .filter(Number.isFinite);
  return Math.max(...gaps);
}

it('twenty waiters under fire', { timeout: lastsMs + 120_000, retry: 0 }, async () => {
  const masters = await startMasters(5);
  const log = join(scratchFolder(), 'kills');
  writeFileSync(log, '');
  // The masters have just been started, and do not vote before their grace is over.
  await sleep(ttlMs);
  const crowd = new Crowd(masters, log);
  await eventually('a job runs', () => linesOf(log).some(({ what }) => what === 'begin'), 20_000);

  const { kills, holderKills } = await killAround(crowd, masters);
  const endedAt = Date.now();
  crowd.close();
  await sleep(1_500); // The masters are up again.
  await crowd.end();

  const seen = linesOf(log);
  expect(seen.filter(({ what }) => what === 'clash')).toEqual([]);
  const fences = seen.filter(({ what }) => what === 'begin').map(({ fence }) => fence);
  expect(fences).toEqual([...fences].sort((a, b) => a - b));
  expect(new Set(fences).size).toBe(fences.length);
  const longest = longestGapMs(seen, holderKills, endedAt);
  process.stderr.write(
    `  ${fences.length} jobs, kills ${JSON.stringify(kills)}, ` +
      `longest gap ${Math.round(longest)} ms of ${gapMs}\n`,
  );
  expect(kills.holder * kills.next * kills.any).toBeGreaterThan(0);
  expect(longest).toBeLessThan(gapMs);
  await eventually(
    'no key is left but the counter',
    async () =>
      (await Promise.all(masters.map((master) => master.keys())))
        .flat()
        .every((key) => /:(fence|history|mark)$/.test(key)),
    15_000,
  );
});
