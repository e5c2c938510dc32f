// Shared locks, slots, several names, --supersede and --replace, as the user sees them. That a lock
// never has holders that exclude each other is for test/sim and test/long.

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ctl } from '../ctl/rig.ts';
import { shellLine } from '../servers/shell.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  type CliRun,
  interpreter,
  obedient,
  program,
  type TestMaster,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

// Not on unix sockets: of a client that has ended, a slow server drops there what it has not read,
// which may be the release.
const { masters, run, start } = useMasters(3, { transport: 'tcp' });

/** A run with a command that prints "ready" and goes on until it gets a signal. */
async function holding(...args: string[]): Promise<CliRun> {
  const holder = start(['--ttl', '10s', ...args, '--', ...obedient()]);
  await holder.says('stdout', /ready/);
  return holder;
}

async function end(...runs: CliRun[]): Promise<void> {
  for (const one of runs) one.signal('SIGTERM');
  await Promise.all(runs.map(({ result }) => result));
}

const outcomes = async (...attempts: string[][]) =>
  Promise.all(attempts.map(async (args) => (await run([...args, '--', 'true'])).code));

test('shared: together with other shared holders, never with an exclusive one', async () => {
  const readers = [await holding('-s', 'form'), await holding('--shared', 'form')];
  expect(await outcomes(['-n', '-s', 'form'])).toEqual([0]);
  const { code, stderr } = await run(['-n', '-x', 'form', '--', 'true']);
  expect(code).toBe(75);
  expect(stderr).toMatch(/^redlock-run: busy: "form": held by shared holders; lease ends in .*\n$/);
  await end(...readers);
  const writer = await holding('form');
  expect(await outcomes(['-n', '-s', 'form'], ['-n', '--slots', '2', 'form'])).toEqual([75, 75]);
  await end(writer);
  await untilNothingIsLeft(masters);
});

test('shared: a waiting writer is ahead of later readers, and comes next', async () => {
  const reader = await holding('-s', 'form');
  const writer = start(['-v', 'form', '--', 'true']);
  await writer.says('stderr', /waiting/);
  expect(await outcomes(['-n', '-s', 'form'])).toEqual([75]);
  const late = start(['-v', '-s', 'form', '--', 'true']);
  await late.says('stderr', /waiting/);
  await end(reader);
  expect([(await writer.result).code, (await late.result).code]).toEqual([0, 0]);
  await untilNothingIsLeft(masters);
});

test('shared: keeps out other Redlock libraries, and is kept out by them', async () => {
  const reader = await holding('-s', 'form');
  expect(await takenBy('foreign', masters)).toEqual([null, null, null]);
  await end(reader);
  await takeBy('foreign', masters, 'form');
  expect(await outcomes(['-n', '-s', 'form'], ['-n', '--slots', '2', 'form'])).toEqual([75, 75]);
});

/** The replies to SET NX on each master: the attempt of another library. */
function takenBy(value: string, those: readonly TestMaster[]): Promise<unknown[]> {
  return Promise.all(
    those.map((master) => master.command('set', 'redlock:form', value, 'NX', 'PX', 1_000)),
  );
}

test('slots: N at a time, and the next one when one ends', async () => {
  const holders = [await holding('--slots', '2', 'form'), await holding('--slots', '2', 'form')];
  expect(
    await outcomes(['-n', '--slots', '2', 'form'], ['-n', '--slots', '3', 'form'], ['-n', 'form']),
  ).toEqual([75, 75, 75]);
  for (const flags of [['-n'], ['-n', '-s']]) {
    const { code, stderr } = await run([...flags, 'form', '--', 'true']);
    expect([code, stderr]).toEqual([
      75,
      expect.stringContaining(' (with --slots 2, this one with'),
    ]);
  }
  const next = start(['-v', '--slots', '2', 'form', '--', 'true']);
  await next.says('stderr', /waiting \d+s for "form": .*held on slots, 2 in all/);
  await end(holders[0] as CliRun);
  expect((await next.result).code).toBe(0);
  await end(holders[1] as CliRun);
  await untilNothingIsLeft(masters);
});

test('slots: each command has the number of its own, as the masters have it', async () => {
  const script = 'echo "$REDLOCK_TOKEN $REDLOCK_SLOT."; exec sleep 60';
  const holders = [1, 2, 3].map(() => start(['--slots', '3', 'form', '-c', script]));
  const told = await Promise.all(
    holders.map(async (one) => {
      const [, token, slot] = await one.says('stdout', /^(\S+) (\d)\.$/m);
      return { token, slot: Number(slot) };
    }),
  );
  expect(told.map(({ slot }) => slot).sort()).toEqual([1, 2, 3]);
  const { stdout } = await ctl(masters, ['status', 'form', '--json']);
  expect(JSON.parse(stdout).locks[0].holders).toEqual(
    expect.arrayContaining(told.map((one) => expect.objectContaining(one))),
  );
  await end(...holders);
});

test('slots: the number in the report and in a nested run; one is 1, none is empty', async () => {
  const file = join(mkdtempSync(join(scratchFolder(), 'slot-')), 'report.json');
  const slot = 'echo "slot $REDLOCK_SLOT."';
  const nested = shellLine(interpreter, program, '--reentrant', 'form', '-c', slot);
  const two = await run(['--slots', '2', '--report', file, 'form', '-c', `${slot}; ${nested}`]);
  const report = JSON.parse(readFileSync(file, 'utf8'));
  expect([1, 2]).toContain(report.slot);
  expect(two.stdout).toBe(`slot ${report.slot}.\n`.repeat(2));
  expect((await run(['--slots', '1', 'form', '-c', slot])).stdout).toBe('slot 1.\n');
  const within = shellLine(interpreter, program, 'other', '-c', slot);
  expect((await run(['--slots', '2', 'form', '-c', within])).stdout).toBe('slot .\n');
  expect((await run(['-s', 'form', '-c', slot])).stdout).toBe('slot .\n');
});

test('slots: the first waiter gets the free slot, also when it asked for another one', async () => {
  const holder = await holding('--slots', '3', 'form');
  const codes = await Promise.all(
    Array.from({ length: 2 }, () => outcomes(['-n', '--slots', '3', 'form'])),
  );
  expect(codes).toEqual([[0], [0]]);
  await end(holder);
});

test('several names: all or none', async () => {
  const other = await holding('b');
  const { code, stderr } = await run(['-n', 'a', 'b', 'c', '--', 'true']);
  expect(code).toBe(75);
  expect(stderr).toMatch(/^redlock-run: busy: "b" of "a" "b" "c": held by .*, pid \d+, /);
  const waited = await run(['-w', '0.5', 'a', 'b', 'c', '--', 'true']);
  expect(waited.stderr).toMatch(/ for "a" "b" "c": 1st in the queue; "b": held by .*\n.*busy: "b"/);
  expect(await outcomes(['-n', 'a'], ['-n', 'c'])).toEqual([0, 0]);
  await end(other);
  const all = await holding('a', 'b', 'c');
  expect(await outcomes(['-n', 'a'], ['-n', 'b'], ['-n', 'c'])).toEqual([75, 75, 75]);
  await end(all);
  await untilNothingIsLeft(masters);
});

test('several names: the command is told all of them', async () => {
  const script = 'echo "$REDLOCK_NAME|$REDLOCK_NAMES|$REDLOCK_HELD"';
  const { stdout } = await run(['a,b', 'c', '-c', script, '--']);
  expect(stdout).toBe('a,b|a%2Cb,c|a%2Cb,c\n');
});

test('several names in opposite order, again and again: no deadlock', async () => {
  const jobs = Array.from({ length: 6 }, (_, index) => {
    const names = index % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
    return run([...names, '-w', '30s', '--', 'sleep', '0.05'], { timeoutMs: 40_000 });
  });
  expect((await Promise.all(jobs)).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  await untilNothingIsLeft(masters);
});

test('--supersede: an older waiter leaves for a newer one, the holder goes on', async () => {
  const holder = await holding('--supersede', 'form');
  const patient = start(['-v', 'form', '--', 'echo', 'patient']);
  await patient.says('stderr', /waiting/);
  const older = start(['-v', '--supersede', 'form', '--', 'echo', 'older']);
  await older.says('stderr', /waiting/);
  const newer = start(['--supersede', 'form', '--', 'echo', 'newer']);
  const { code, stdout, stderr } = await older.result;
  expect([code, stdout]).toEqual([75, '']);
  expect(stderr).toMatch(
    new RegExp(
      `redlock-run: busy: "form": superseded by a newer run, pid ${newer.pid} on \\S+\\n$`,
    ),
  );
  await end(holder);
  expect([(await patient.result).stdout, (await newer.result).stdout]).toEqual([
    'patient\n',
    'newer\n',
  ]);
  await untilNothingIsLeft(masters);
});

test('--replace: a holder with it is stopped and exits 79; one without goes on', async () => {
  const replaceable = await holding('--replace', 'form');
  const newer = start(['--replace', 'form', '--', ...obedient()]);
  const { code, stderr } = await replaceable.result;
  expect(code).toBe(79);
  expect(stderr).toMatch(
    new RegExp(
      String.raw`^redlock-run: replaced: "form": stopped for a newer run, pid \d+ on \S+; ` +
        'the command was stopped',
      'm',
    ),
  );
  await newer.says('stdout', /ready/);
  await end(newer);
  const firm = await holding('form');
  expect(await outcomes(['-w', '1s', '--replace', 'form'])).toEqual([75]);
  expect((await run(['-n', 'form', '--', 'true'])).code).toBe(75);
  await end(firm);
  await untilNothingIsLeft(masters);
});
