// Slots, and readers beside writers, while runs and masters are killed or frozen at random for
// twenty seconds: never more holders than slots, never a reader beside a writer, and every writer
// is served. Locks of the kernel show that, as in waiting-kills.test.ts.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { CliRun } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const ttlMs = 4_000;
const lastsMs = Number(process.env.KILLS_MS ?? 20_000);
const job = fileURLToPath(new URL('fixtures/together.sh', import.meta.url));

afterEach(async () => {
  await stopAll();
  nothingLeft();
});

/**
 * So many of each kind of run, each started again when it ends, while masters and runs fail;
 * resolves with their output.
 */
async function underFire(
  name: string,
  masterCount: number,
  kinds: readonly string[][],
): Promise<string[]> {
  const masters = await startMasters(masterCount);
  const log = join(scratchFolder(), name);
  writeFileSync(log, '');
  const env = {
    REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
    REDLOCK_RESTART_GRACE: `${ttlMs}ms`,
  };
  const running = new Set<CliRun>();
  const all: CliRun[] = [];
  let isOpen = true;
  const begin = (kind: readonly string[]) => {
    const [role = '', ...options] = kind;
    const args = [
      '--ttl',
      `${ttlMs}ms`,
      '-k',
      '300ms',
      ...options,
      name,
      '--',
      'bash',
      job,
      log,
      role,
    ];
    const run = new CliRun(args, { env, timeoutMs: lastsMs + 60_000 });
    running.add(run);
    all.push(run);
    run.child.once('exit', () => {
      running.delete(run);
      if (isOpen) begin(kind);
    });
  };
  await sleep(ttlMs); // New masters do not count before their grace is over.
  for (const kind of kinds) begin(kind);
  const began = Date.now();
  while (Date.now() - began < lastsMs) {
    await sleep(300 + Math.random() * 700);
    if (Math.random() < 0.15)
      disturb(masters[Math.floor(Math.random() * masters.length)] as TestMaster);
    else [...running][Math.floor(Math.random() * running.size)]?.signal('SIGKILL');
  }
  isOpen = false;
  await disturbance;
  for (const run of running) run.signal('SIGTERM');
  for (const run of all) await run.result;
  await eventually(
    'no key is left but counters and histories',
    async () =>
      (await Promise.all(masters.map((master) => master.keys())))
        .flat()
        .every((key) => /:(fence|history|mark)$/.test(key)),
    15_000,
  );
  return readFileSync(log, 'utf8').trim().split('\n');
}

let isDisturbed = false;
let disturbance = Promise.resolve();

/** One master at a time: killed or frozen, and healthy again after a second or two. */
function disturb(master: TestMaster): void {
  if (isDisturbed) return;
  isDisturbed = true;
  disturbance = befall(master).finally(() => {
    isDisturbed = false;
  });
}

async function befall(master: TestMaster): Promise<void> {
  const isKilled = Math.random() < 0.5;
  if (isKilled) await master.kill();
  else master.freeze();
  await sleep(1_000 + Math.random() * 1_000);
  if (isKilled) await master.restart();
  else master.thaw();
}

it('two slots, twenty waiters, three masters: never three', {
  timeout: lastsMs + 120_000,
  retry: 0,
}, async () => {
  const kinds = Array.from({ length: 20 }, () => ['slot', '--slots', '2']);
  const seen = await underFire('slots', 3, kinds);
  expect(seen.filter((line) => line.startsWith('clash'))).toEqual([]);
  const begun = seen.filter((line) => line.startsWith('begin'));
  const together = seen.filter((line) => line.startsWith('beside'));
  process.stderr.write(`  ${begun.length} jobs, ${together.length} of them beside another\n`);
  expect(begun.length).toBeGreaterThan(10);
  expect(together.length).toBeGreaterThan(0);
});

it('ten readers and three writers: never beside one another, every writer served', {
  timeout: lastsMs + 120_000,
  retry: 0,
}, async () => {
  const readers = Array.from({ length: 10 }, () => ['reader', '-s']);
  const writers = ['writer1', 'writer2', 'writer3'].map((role) => [role]);
  const seen = await underFire('shared', 3, [...readers, ...writers]);
  expect(seen.filter((line) => line.startsWith('clash'))).toEqual([]);
  const counts = ['reader', 'writer1', 'writer2', 'writer3'].map(
    (role) => seen.filter((line) => line === `begin ${role}`).length,
  );
  process.stderr.write(`  readers ${counts[0]}, writers ${counts.slice(1).join(', ')}\n`);
  expect(Math.min(...counts)).toBeGreaterThan(0);
});
