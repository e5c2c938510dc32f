// Many redlock-runs at one lock: never two commands at once, every waiter is served, and a run that
// does not wait names the holder at once.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { userName } from '../../src/system/caller.ts';
import { ctl } from '../ctl/rig.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  giveWayTo,
  linesOf,
  node,
  obedient,
  type TestMaster,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters, run, start } = useMasters(3);

/** A folder for critical-section.js: a counter and a log. */
function section() {
  const folder = mkdtempSync(join(scratchFolder(), 'section-'));
  writeFileSync(join(folder, 'count'), '0');
  const log = () =>
    linesOf(readFileSync(join(folder, 'log'), 'utf8')).map((line) => line.split(' '));
  return { folder, log, count: () => Number(readFileSync(join(folder, 'count'), 'utf8')) };
}

test('masters that show different holders, one without an end: the line says so', async () => {
  await takeBy('one', masters.slice(0, 1), 'held', 60_000);
  for (const [at, master] of masters.slice(1).entries())
    await master.command('set', 'redlock:held', `other${at}`);
  const { code, stderr } = await run(['-n', 'held', '--', 'true']);
  expect(code).toBe(75);
  expect(stderr).toMatch(
    /busy: "held": masters show [23] holders, on some it is held by another program \(value/,
  );
  expect(stderr).toMatch(/; not all of this expires by itself/);
});

test('ten at once count in one file: never interleaved, all served, fenced in order', async () => {
  const { folder, log, count } = section();
  const job = ['--ttl', '10s', 'section', '--', ...node('critical-section.js', folder, '20')];
  const results = await Promise.all(
    Array.from({ length: 10 }, () => run(job, { timeoutMs: 40_000 })),
  );
  expect(results.map(({ code }) => code)).toEqual(Array(10).fill(0));
  expect(
    results
      .map(({ stderr }) => stderr)
      .filter((stderr) => !/^(redlock-run: waiting .*\n)*$/.test(stderr)),
  ).toEqual([]);
  expect(count()).toBe(10);
  const lines = log();
  expect(lines).toHaveLength(20);
  for (let index = 0; index < lines.length; index += 2) {
    const [entered, left] = [lines[index], lines[index + 1]];
    expect([entered?.[0], left?.[0]]).toEqual(['enter', 'leave']);
    expect(left?.slice(1)).toEqual(entered?.slice(1));
  }
  const fences = lines.filter(([what]) => what === 'enter').map(([, , fence]) => Number(fence));
  expect(fences).toEqual([...fences].sort((a, b) => a - b));
  expect(new Set(fences).size).toBe(10);
  await untilNothingIsLeft(masters);
});

test('-n beside a holder: 75 at once, and one line that names the holder', async () => {
  const holder = start(['--ttl', '10s', 'held', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  const { code, stdout, stderr, elapsedMs } = await run(['-n', 'held', '--', 'echo', 'never']);
  expect([code, stdout]).toEqual([75, '']);
  const since = 'since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z';
  const name = `${userName()}@${os.hostname()}, pid ${holder.pid}, sh, ${since}`;
  expect(stderr).toMatch(
    new RegExp(
      `^redlock-run: busy: "held": held by ${name}; lease ends in [\\d.]+s unless extended.*\\n$`,
    ),
  );
  expect(elapsedMs).toBeLessThan(generous(2_000));
  holder.signal('SIGTERM');
  await holder.result;
});

test('the next waiter starts at once, also beside a frozen master', async () => {
  const [, , frozen] = masters as [TestMaster, TestMaster, TestMaster];
  const holder = start(['--ttl', '10s', 'turn', '--', 'sh', '-c', 'echo ready; sleep 4']);
  await holder.says('stdout', /ready/);
  const waiter = start(['--ttl', '10s', '-v', 'turn', '--', 'date', '+%s%3N']);
  await waiter.says('stderr', /1st in the queue/);
  frozen.freeze();
  await holder.result;
  const releasedAt = Date.now();
  const { code, stdout } = await waiter.result;
  frozen.thaw();
  expect(code).toBe(0);
  expect(Number(stdout) - releasedAt).toBeLessThan(5_000);
});

test('-n beside the lock of another program: its value is shown, on one line and cut', async () => {
  await takeBy(`x${'y'.repeat(1_000)}\n`, masters, 'foreign');
  const { code, stderr } = await run(['-n', 'foreign', '--', 'true']);
  expect(code).toBe(75);
  expect(linesOf(stderr)).toHaveLength(1);
  expect(stderr).toMatch(/held by another program \(value xy{30,60}\.\.\.\)/);
});

test('an empty REDLOCK_PREFIX is no prefix; other empty variables are unset', async () => {
  const env = { REDLOCK_PREFIX: '' };
  await Promise.all(masters.map((master) => master.command('set', 'bare', 'theirs', 'px', 60_000)));
  expect(await run(['-n', 'bare', '--', 'true'], { env })).toMatchObject({ code: 75 });
  expect((await ctl(masters, ['status', 'bare'], { env })).code).toBe(75);
  const unset = { REDLOCK_TTL: '', REDLOCK_NOTE: '', REDLOCK_PASSWORD: '', REDLOCK_SERVERNAME: '' };
  const shown = await run(['--dry-run', '-v', 'bare', '--', 'true'], { env: { ...unset, ...env } });
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^key +"bare"/m) });
  expect(shown.stdout).not.toMatch(/environment REDLOCK_(TTL|NOTE|PASSWORD|SERVERNAME)/);
});

test('-q prints nothing about a held lock; -E 0 makes it a success', async () => {
  await takeBy('them', masters, 'held');
  const results = await Promise.all([
    run(['-n', '-q', 'held', '--', 'true']),
    run(['-n', '-q', '-E', '0', 'held', '--', 'true']),
    run(['-w', '100ms', '-q', 'held', '--', 'true']),
  ]);
  expect(results.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual([
    [75, '', ''],
    [0, '', ''],
    [75, '', ''],
  ]);
});

test('-w bounds the wait, also when a master does not answer', async () => {
  await takeBy('them', masters, 'held');
  const fast = await run(['-w', '1s', 'held', '--', 'true']);
  await masters[2]?.freeze();
  const slow = await run(['-w', '1s', 'held', '--', 'true']);
  masters[2]?.thaw();
  for (const { code, elapsedMs } of [fast, slow]) {
    expect(code).toBe(75);
    expect(elapsedMs).toBeGreaterThan(1_000);
    expect(elapsedMs).toBeLessThan(generous(3_500));
  }
});

test('a waiter can be woken, and starts after the release; -v reports its position', async () => {
  const holder = start(['--ttl', '60s', 'passed-on', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  const waiter = start(['-v', 'passed-on', '--', 'true']);
  await waiter.says('stderr', /1st in the queue; held by .*\(pid/);
  // How soon a wake-up lets it in is asked of twenty in redis/queue. The holder is woken as well,
  // where it is asked to stop.
  for (const master of masters)
    await eventually('it listens', async () =>
      /:wake:(?!asked:)/.test(String(await master.command('pubsub', 'channels'))),
    );
  holder.signal('SIGTERM');
  await holder.result;
  const { code, stderr } = await waiter.result;
  expect(code).toBe(0);
  expect(linesOf(stderr).filter((line) => line.includes('waiting '))).toEqual([
    expect.stringMatching(/waiting \d+s for "passed-on": 1st in the queue; held by /),
    expect.stringMatching(/acquired: .*, after waiting /),
  ]);
});

test('a key that expires frees the lock for a waiter, without a release', async () => {
  await takeBy('them', masters, 'crashed');
  const waiter = start(['-w', '10s', 'crashed', '--', 'echo', 'mine']);
  await waiter.says('stderr', /waiting/);
  for (const master of masters) await master.command('pexpire', 'redlock:crashed', 100);
  expect(await waiter.result).toMatchObject({ code: 0, stdout: 'mine\n' });
});

test('--retry-count: that many retries with pauses, no position in the queue', async () => {
  await takeBy('them', masters, 'counted');
  const flags = ['--retry-count', '2', '--retry-delay', '300ms'];
  const counted = start([...flags, 'counted', '--', 'true']);
  await counted.says('stderr', /waiting/);
  expect((await masters[0]?.keys())?.filter((key) => key.endsWith(':queue'))).toEqual([]);
  const { code, elapsedMs, stderr } = await counted.result;
  expect([code, linesOf(stderr)]).toEqual([
    75,
    [
      expect.stringMatching(/: waiting \d+s for "counted": /),
      expect.stringMatching(/: busy: .* \(raise --retry-count\)$/),
    ],
  ]);
  expect(elapsedMs).toBeGreaterThan(600);
  expect(elapsedMs).toBeLessThan(generous(3_000));
  const patient = start([...flags, '--retry-count', '99', 'counted', '--', 'true']);
  await giveWayTo(patient, masters, 'counted');
  expect((await patient.result).code).toBe(0);
});

test('two locks of different names do not touch each other', async () => {
  const holder = start(['--ttl', '10s', 'one', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  expect(await run(['-n', 'other', '--', 'true'])).toMatchObject({ code: 0, stderr: '' });
  holder.signal('SIGTERM');
  await holder.result;
});

test('holding and waiting cost a master a few commands a second', async () => {
  const first = masters[0] as TestMaster;
  const processed = async () =>
    Number(
      /total_commands_processed:(\d+)/.exec(String(await first.command('info', 'stats')))?.[1],
    );
  const before = await processed();
  const holder = start(['--ttl', '5s', '-k', '200ms', 'busy', '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  const waited = await run(['-w', '3s', 'busy', '--', 'true']);
  expect(waited.code, holder.stderr).toBe(75);
  // An EVAL and the commands of its script are counted one by one: eight for an extension, a dozen
  // or two for a poll of a waiter.
  expect((await processed()) - before).toBeLessThan(400);
  holder.signal('SIGTERM');
  await holder.result;
});
