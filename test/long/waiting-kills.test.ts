// Twenty waiters, and for a minute random kills: the holder, the first waiter, any waiter, two of
// the five masters. Never two inside, never a gap longer than a ttl and a second, and nothing is
// left. A lock of the kernel shows that jobs do not overlap, independently of redlock-run.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { nothingLeft, startMasters, stopAll } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { CliRun } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const ttlMs = 4_000;
const waiterCount = 20;
const lastsMs = Number(process.env.KILLS_MS ?? 60_000);
const critical = fileURLToPath(new URL('fixtures/critical.sh', import.meta.url));

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

interface Subscriptions {
  readonly what: string;
  readonly pid: number;
  readonly fence: number;
  readonly atMs: number;
}

it('twenty waiters under fire', { timeout: lastsMs + 120_000, retry: 0 }, async () => {
  const masters = await startMasters(5);
  const log = join(scratchFolder(), 'kills');
  writeFileSync(log, '');
  const lines = (): Subscriptions[] =>
    readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '))
      .map(([what = '', pid, fence, at]) => ({
        what,
        pid: Number(pid),
        fence: Number(fence),
        atMs: Number(at) / 1e6,
      }));

  const env = {
    REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
    REDLOCK_RESTART_GRACE: `${ttlMs}ms`,
  };
  const running: CliRun[] = [];
  const all: CliRun[] = [];
  let isOpen = true;
  const join1 = () => {
    const args = ['--ttl', `${ttlMs}ms`, '-k', '300ms', 'kills', '--', 'bash', critical, log];
    const run = new CliRun(args, { env, timeoutMs: lastsMs + 60_000 });
    running.push(run);
    all.push(run);
    run.child.once('exit', () => {
      running.splice(running.indexOf(run), 1);
      if (isOpen) join1();
    });
  };
  // The masters have just been started, and do not vote before their grace is over.
  await sleep(ttlMs);
  for (let count = 0; count < waiterCount; count += 1) join1();
  await eventually('a job runs', () => lines().some(({ what }) => what === 'begin'), 20_000);

  const began = Date.now();
  const kills = { holder: 0, next: 0, any: 0, masters: 0 };
  const holderKills: number[] = [];
  /** A run that has the key keeps it until it expires, whether its job has begun or not. */
  const kill = async (run: CliRun | undefined) => {
    run?.signal('SIGKILL');
    const values = await Promise.all(
      masters.map((master) => master.get('redlock:kills').catch(() => null)),
    );
    if (values.some((value) => value?.includes(`"pid":${run?.pid},`))) holderKills.push(Date.now());
  };
  let mastersDue = began + 5_000;
  while (Date.now() - began < lastsMs) {
    await sleep(300 + Math.random() * 700);
    const holder = lines().at(-1)?.pid;
    const waiting = running.filter(({ pid }) => pid !== holder);
    const roll = Math.random();
    if (Date.now() > mastersDue) {
      mastersDue = Date.now() + 10_000;
      kills.masters += 1;
      const [first, second] = [...masters].sort(() => Math.random() - 0.5);
      await Promise.all([first?.kill(), second?.kill()]);
      void sleep(1_000).then(() => Promise.all([first?.restart(), second?.restart()]));
    } else if (roll < 0.35) {
      kills.holder += 1;
      await kill(running.find(({ pid }) => pid === holder));
    } else if (roll < 0.75) {
      kills.next += 1;
      await kill(waiting[0]); // The one that has waited longest.
    } else {
      kills.any += 1;
      await kill(waiting[Math.floor(Math.random() * waiting.length)]);
    }
  }
  const endedAt = Date.now();
  isOpen = false;
  await sleep(1_500); // The masters are up again.
  for (const run of [...running]) run.signal('SIGTERM');
  for (const run of all) await run.result;

  const seen = lines();
  expect(seen.filter(({ what }) => what === 'clash')).toEqual([]);
  const begins = seen.filter(({ what }) => what === 'begin');
  const fences = begins.map(({ fence }) => fence);
  expect(fences).toEqual([...fences].sort((a, b) => a - b));
  expect(new Set(fences).size).toBe(fences.length);
  // No job ran from the end of a job, or the kill of its run, until the next one began.
  const left = [
    ...seen.filter(({ what }) => what === 'end').map(({ atMs }) => atMs),
    ...holderKills,
  ];
  const gaps = begins
    .filter(({ atMs }) => atMs < endedAt)
    .map(({ atMs }) => atMs - Math.max(...left.filter((at) => at < atMs)))
    .filter(Number.isFinite);
  const longest = Math.max(...gaps);
  process.stderr.write(
    `  ${begins.length} jobs, kills ${JSON.stringify(kills)}, ` +
      `longest gap ${Math.round(longest)} ms of ${ttlMs + 1_000}\n`,
  );
  expect(kills.holder * kills.next * kills.any).toBeGreaterThan(0);
  expect(longest).toBeLessThan(ttlMs + 1_000);
  await eventually(
    'no key is left but the counter',
    async () =>
      (await Promise.all(masters.map((master) => master.keys())))
        .flat()
        .every((key) => /:(fence|history|mark)$/.test(key)),
    15_000,
  );
});
