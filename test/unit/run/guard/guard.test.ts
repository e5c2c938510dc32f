// The guard's decisions, on a clock that is moved by hand.

import { expect, it } from 'vitest';
import { Guard } from '../../../../src/run/guard/guard.ts';
import { HandClock } from '../../hand-clock.ts';

function setUp(guarded: object = {}, graceMs = 200) {
  const clock = new HandClock();
  const log: string[] = [];
  const tell = (what: string) => log.push(`${what} at ${clock.now()}`);
  const tree = {
    stop: () => tell('stop'),
    kill: async () => tell('kill'),
    isEmpty: () => false,
    size: () => 0,
    ...guarded,
  };
  const guard = new Guard({ stopSignal: 'SIGTERM', graceMs }, tree, clock, () => tell('say'));
  return { clock, guard, log };
}

/** As setUp(), with a command that was started under these deadlines. */
function begun(stopAt: number, killAt: number, guarded: object = {}, graceMs = 200) {
  const parts = setUp(guarded, graceMs);
  parts.guard.setDeadlines(stopAt, killAt);
  parts.guard.begin();
  return parts;
}

it('stops when no new deadline has come, and kills at the deadline for that', async () => {
  const { clock, log } = begun(1_000, 1_100);
  await clock.moveTo(2_000);
  expect(log).toEqual(['say at 1000', 'stop at 1000', 'kill at 1100']);
});

it('gives the grace, and no more, where the deadline leaves it', async () => {
  const { clock, log } = begun(1_000, 9_000);
  await clock.moveTo(2_000);
  expect(log).toEqual(['say at 1000', 'stop at 1000', 'kill at 1200']);
});

it.each([
  [100, ['say at 1000', 'stop at 1000', 'kill at 1400']],
  [500, ['say at 1000', 'kill at 1000']],
])('kills a crowd so much earlier as that takes: %i processes', async (size, expected) => {
  const { clock, log } = begun(1_000, 1_500, { size: () => size }, 5_000);
  await clock.moveTo(2_000);
  expect(log).toEqual(expected);
});

it('sends a crowd no stop signal that is asked for when it has to be killed', async () => {
  const { guard, log } = begun(1_000, 1_500, { size: () => 1_500 });
  guard.stop('SIGTERM');
  expect(log).toEqual([]);
});

it.each([
  ['the grace', 5_000, 200],
  ['what is left until it kills', 110, 100],
])('a stop takes no longer than %s', (_, killAt, expected) => {
  const given: number[] = [];
  const stop = (_signal: string, withinMs: number) => given.push(withinMs);
  const { guard } = begun(5_000, killAt, { stop, size: () => 10 });
  guard.stop('SIGTERM');
  expect(given).toEqual([expected]);
});

it('waits as long as it is told new deadlines', async () => {
  const { clock, guard, log } = begun(1_000, 1_200);
  for (let at = 0; at < 5_000; at += 500) {
    guard.setDeadlines(at + 1_000, at + 1_200);
    await clock.moveTo(at + 500);
  }
  expect(log).toEqual([]);
  await clock.moveTo(10_000);
  expect(log).toEqual(['say at 5500', 'stop at 5500', 'kill at 5700']);
});

it('is not talked out of it, once it has begun', async () => {
  const { clock, guard, log } = begun(1_000, 1_200);
  await clock.moveTo(1_050);
  guard.setDeadlines(9_000, 9_200);
  await clock.moveTo(3_000);
  expect(log).toEqual(['say at 1000', 'stop at 1000', 'kill at 1200']);
});

it('reads later deadlines where it did not run, also when they come a moment after', async () => {
  const { clock, guard, log } = begun(1_000, 5_000);
  await clock.leapTo(3_000);
  await clock.moveTo(3_150); // The thread that reads the pipe has had no turn so far.
  guard.setDeadlines(6_000, 8_000);
  await clock.moveTo(5_990);
  expect(log).toEqual([]);
});

it('stops where it did not run and no later deadline comes', async () => {
  const { clock, log } = begun(1_000, 5_000);
  await clock.leapTo(3_000);
  await clock.moveTo(9_000);
  expect(log).toEqual(['say at 3200', 'stop at 3200', 'kill at 3400']);
});

it('kills without delay where it did not run until then', async () => {
  const { clock, log } = begun(1_000, 1_200);
  await clock.leapTo(3_000);
  await clock.moveTo(9_000);
  expect(log).toEqual(['say at 3020', 'kill at 3020']);
});

it('stops at once when redlock-run is gone, and is done when no process is left', async () => {
  const { clock, guard, log } = begun(1_000, 1_200);
  await clock.moveTo(100);
  const abandoned = guard.abandon().then(() => log.push('done'));
  await clock.moveTo(3_000);
  await abandoned;
  expect(log).toEqual(['stop at 100', 'kill at 300', 'done']);
});

it('kills by the deadline also when redlock-run died late', async () => {
  const { clock, guard, log } = begun(1_000, 1_050);
  await clock.moveTo(990);
  guard.abandon();
  await clock.moveTo(3_000);
  expect(log).toEqual(['stop at 990', 'kill at 1050']);
});

it('waits for no process in vain', async () => {
  const { guard, log } = begun(1_000, 1_200, { isEmpty: () => true });
  await guard.abandon();
  expect(log).toEqual(['stop at 0', 'kill at 0']);
});

it('has nothing to do when redlock-run is gone before there was a command', async () => {
  const { guard, log } = setUp();
  await guard.abandon();
  expect(log).toEqual([]);
});

it.each([
  ['it has not been told a deadline', null, 0, false],
  ['its deadline has not come', 100, 99, true],
  ['its deadline has come', 100, 100, false],
])('lets a command start only under a deadline: %s', async (_title, stopAt, at, mayStart) => {
  const { clock, guard } = setUp();
  if (stopAt !== null) guard.setDeadlines(stopAt, stopAt + 100);
  await clock.moveTo(at);
  expect(guard.mayStart).toBe(mayStart);
});

it('ignores a deadline without a command, and starts the command of the next', async () => {
  const { clock, guard, log } = setUp();
  guard.setDeadlines(100, 200);
  await clock.moveTo(1_000);
  expect(log).toEqual([]);
  guard.setDeadlines(2_000, 2_100);
  expect(guard.mayStart).toBe(true);
  guard.begin();
  await clock.moveTo(3_000);
  expect(log).toEqual(['say at 2000', 'stop at 2000', 'kill at 2100']);
});

it('does nothing more when it is told that all is over', async () => {
  const { clock, guard, log } = begun(100, 200);
  guard.finish();
  await guard.abandon();
  await clock.moveTo(1_000);
  expect(log).toEqual([]);
});
