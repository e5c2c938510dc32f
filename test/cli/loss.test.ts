// When the lock is no longer confirmed, the command is stopped in time by the local clock, whatever
// the masters answer. A lost lock is not acquired again.

import { expect, test } from 'vitest';
import { FaultyProxy } from '../servers/faulty-proxy.ts';
import {
  behind,
  confirmed,
  flood,
  grant,
  messageOn,
  startHostile,
} from '../servers/hostile-master.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import {
  countOf,
  environmentFor,
  linesOf,
  node,
  type TestMaster,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

// On TCP, where a slow server reads also the release of a client that has ended.
const { masters, run, start } = useMasters(3, { transport: 'tcp' });

/** Runs a command that ignores signals, and loses its lock by `harm`; it must end in time. */
async function expectStopped(
  ttlMs: number,
  name: string,
  harm: () => Promise<unknown>,
  reason: RegExp,
): Promise<void> {
  const env = { REDLOCK_MASTER_TIMEOUT: '150ms' };
  const job = start(['--ttl', `${ttlMs}ms`, name, '--', ...node('immortal.js')], { env });
  const [, pid] = await job.says('stdout', /ready (\d+)/);
  const harmedAt = performance.now();
  await harm();
  await job.says('stdout', /SIGTERM/);
  const { code, stderr } = await job.result;
  expect(performance.now() - harmedAt).toBeLessThan(ttlMs + 500);
  expect(isAlive(Number(pid))).toBe(false);
  expect(code).toBe(79);
  expect(linesOf(stderr)).toHaveLength(1);
  expect(stderr).toMatch(reason);
  expect(stderr).toMatch(/the command was killed/);
}

test('a majority frozen: the command is stopped before the lock is free', async () => {
  const ttlMs = 5_000; // SIGKILL comes 0.8 s before its end: seen later, it would be "suspended".
  const job = start(['--ttl', `${ttlMs}ms`, 'frozen', '--', ...node('immortal.js')]);
  const [, pid] = await job.says('stdout', /ready (\d+)/);
  const asked = job.says('stdout', /SIGTERM/);
  for (const master of masters.slice(1)) await master.freeze();
  const frozenAt = performance.now();
  await asked;
  await eventually('dead', () => !isAlive(Number(pid)));
  // The last extension was before this instant, so no key stays longer than one ttl from here.
  expect(performance.now() - frozenAt).toBeLessThan(ttlMs);
  const { code, stderr } = await job.result;
  for (const master of masters) master.thaw();
  expect(code).toBe(79);
  const [unreleased, lost, ...others] = linesOf(stderr);
  expect(unreleased).toMatch(
    /^redlock-run: warning: "frozen": not released on a quorum: redis:\/\/.* \(it expires .*\)$/,
  );
  expect(lost).toMatch(/^redlock-run: lost: "frozen": unreachable: .*the command was killed/);
  expect(others).toEqual([]);
  await untilNothingIsLeft(masters);
});

test.each([
  [
    'the keys deleted on all masters',
    (each: TestMaster) => each.command('del', 'redlock:harm'),
    /expired/,
  ],
  [
    'the value of another client on all masters',
    (each: TestMaster) => takeBy('them', [each], 'harm'),
    /taken/,
  ],
])('%s: lost, stopped, 79', async (_title, harm, reason) => {
  const all = () => Promise.all(masters.map(harm));
  await expectStopped(6_000, 'harm', all, reason);
  const values = await Promise.all(masters.map((master) => master.get('redlock:harm')));
  expect(values).toEqual(reason.source === 'taken' ? ['them', 'them', 'them'] : [null, null, null]);
});

/** Runs a command that ends before the first extension, with `harm` meanwhile. */
async function endedUnder(
  harm: (each: TestMaster) => Promise<unknown>,
  some: readonly TestMaster[],
  flags: string[] = [],
) {
  const command = ['sh', '-c', 'echo ready; read -r _; exit 3'];
  const job = start([...flags, 'late', '--', ...command], { stdin: 'pipe' });
  await job.says('stdout', /ready/);
  // It begins with a quorum: the last master may grant the lock only now.
  await eventually('all have it', async () => (await countOf(masters, 'late')) === 3);
  await Promise.all(some.map(harm));
  job.child.stdin?.end('\n');
  return job.result;
}

test('taken by another client before a short command ends: found at the release, 79', async () => {
  const { code, stderr } = await endedUnder(
    (each) => takeBy('them', [each], 'late'),
    masters.slice(1),
  );
  expect(code).toBe(79);
  expect(stderr).toMatch(
    /^redlock-run: lost: "late": taken: .*; the command had ended by then: exit code 3\n$/,
  );
  await Promise.all(masters.map((master) => master.command('del', 'redlock:late')));
});

test('only missing by then: a warning, and the exit code of the command', async () => {
  const { code, stderr } = await endedUnder(
    (each) => each.command('del', 'redlock:late'),
    masters.slice(1),
  );
  expect(code).toBe(3);
  expect(linesOf(stderr)).toEqual([
    expect.stringMatching(/^redlock-run: warning: "late": too few masters still showed/),
  ]);
});

test('on a minority: the exit code of the command, and no line', async () => {
  const deleted = (each: TestMaster) => each.command('del', 'redlock:late');
  expect(await endedUnder(deleted, masters.slice(2))).toMatchObject({ code: 3, stderr: '' });
});

test('--on-lost runs also when the loss is found at the release', async () => {
  const taken = (each: TestMaster) => takeBy('them', [each], 'late');
  const { code, stderr } = await endedUnder(taken, masters, [
    '--on-lost',
    'echo "told of $REDLOCK_LOST" >&2',
  ]);
  expect(code).toBe(79);
  expect(stderr).toMatch(/^told of taken$/m);
  await Promise.all(masters.map((master) => master.command('del', 'redlock:late')));
});

test('a lost lock is not acquired again while the command still runs', async () => {
  const job = start(['--ttl', '4s', '-k', '2s', 'lost', '--', ...node('immortal.js')]);
  await job.says('stdout', /ready/);
  // An extension that is on its way repairs a master: again until the loss is known.
  await eventually('it is lost', async () => {
    await Promise.all(masters.map((master) => master.command('del', 'redlock:lost')));
    return job.stdout.includes('SIGTERM');
  });
  let most = 0;
  let looks = 0;
  for (; job.child.exitCode === null && job.child.signalCode === null; looks += 1)
    most = Math.max(most, await countOf(masters, 'lost'));
  expect(await job.result).toMatchObject({ code: 79 });
  expect(looks).toBeGreaterThan(0);
  expect(most, 'masters that show a key again').toBeLessThan(2);
});

test('cut off from a majority: the command ends before the next one begins', async () => {
  const proxies = await Promise.all(masters.map((master) => FaultyProxy.start(master.url)));
  const job = start(['--ttl', '4s', 'cut', '--', ...node('immortal.js')], {
    env: environmentFor(proxies),
  });
  const [, pid] = await job.says('stdout', /ready (\d+)/);
  for (const proxy of proxies.slice(1)) proxy.holdRequests();
  // One that has ended, and that its guard has not heard of yet, is not there.
  const isThere = `! grep -qs '^State:.Z' /proc/${pid}/status && kill -0 ${pid} 2>/dev/null`;
  const look = `${isThere} && echo both || echo one`;
  const next = await run(['-w', '10s', 'cut', '--', 'sh', '-c', look]);
  expect(next).toMatchObject({ code: 0, stdout: 'one\n' });
  expect(await job.result).toMatchObject({ code: 79 });
  for (const proxy of proxies) await proxy.pass();
  await untilNothingIsLeft(masters);
  for (const proxy of proxies) await proxy.stop();
});

test('a minority that floods its subscribers does not delay the extensions', async () => {
  const flooding = await startHostile(
    behind((args, socket) => {
      if (args[0] !== 'SUBSCRIBE') return grant();
      socket.write(confirmed(args), () => flood(socket, messageOn(args[1] ?? '')));
      return null;
    }),
    'tcp', // It takes megabytes before the first is read.
  );
  const urls = [flooding, ...masters.slice(1)].map(({ url }) => url);
  const job = start(['-v', '--ttl', '3s', '-k', '200ms', 'flooded', '--', 'cat'], {
    stdin: 'pipe',
    env: { REDLOCK_MASTERS: urls.join(',') },
  });
  await job.says('stderr', /(extended[\s\S]*){2}|lost/);
  // It was cut off, and dialled again for an extension.
  const subscriptionCount = () => flooding.commands.filter(([word]) => word === 'SUBSCRIBE').length;
  await eventually('it subscribes again', () => subscriptionCount() >= 2 || job.hasEnded);
  job.child.stdin?.end();
  expect(await job.result).toMatchObject({ code: 0 });
  expect(subscriptionCount()).toBeGreaterThanOrEqual(2);
});
