// A person's lock without a process: what it bars, what it leaves alone, how it is shown, which
// freeze is thawed, and what becomes of one that masters have forgotten.

import { describe, expect, test } from 'vitest';
import { freezeMsOf } from '../../src/ctl/freeze.ts';
import { parseFreeze, renderFreeze } from '../../src/lock/people.ts';
import { countOf, isOnEach, useMasters } from '../cli/rig.ts';
import type { TestMaster } from '../servers/masters.ts';
import { answerOf, ctl } from './rig.ts';

const rig = useMasters(3);
const { masters } = rig;
const all = () => masters as [TestMaster, TestMaster, TestMaster];
const freezeKey = '{redlock:deploy}:freeze';
const why = 'the "database" moves; ask ann';
const freeze = (...args: string[]) => ctl(masters, ['freeze', 'deploy', '--note', why, ...args]);
const shown = async () => (await answerOf(masters, ['status', 'deploy'])).json.locks[0];
const valuesOf = (key: string) => Promise.all(masters.map((one) => one.get(key)));
const isHeld = () => expect.poll(() => countOf(masters, 'deploy')).toBe(3);

describe('frozen', () => {
  test.each([['-n'], ['-n', '-s'], ['-n', '--slots', '2'], ['-n', '--no-fence']])(
    'a run with %s %s %s is refused with the note: 75',
    async (...options) => {
      expect((await freeze()).code).toBe(0);
      const { code, stdout, stderr } = await rig.run([...options, 'deploy', '--', 'echo', 'ran']);
      expect({ code, stdout }).toEqual({ code: 75, stdout: '' });
      const shownNote = /: "the \\"database\\" moves; ask ann"; until/;
      expect(stderr).toMatch(/^redlock-run: busy: "deploy": frozen by .+@\S+ /);
      expect(stderr).toMatch(shownNote);
      expect(await countOf(masters, 'deploy')).toBe(0);
    },
  );

  test('one of several names is enough, other names are free', async () => {
    await freeze();
    expect((await rig.run(['-n', 'other', 'deploy', '--', 'true'])).code).toBe(75);
    expect((await rig.run(['-n', 'other', '--', 'true'])).code).toBe(0);
  });

  test('break has no holder to break, and says what ends the freeze', async () => {
    await freeze();
    const { code, stderr, json } = await answerOf(masters, ['break', 'deploy', '--yes']);
    expect([code, json.outcome]).toEqual([75, 'refused']);
    expect(stderr).toMatch(/^redlockctl: refused: "deploy": frozen by .*redlockctl thaw/m);
    expect(await shown()).toMatchObject({ state: 'frozen' });
  });

  test('a password in the note is shown nowhere', async () => {
    await ctl(masters, ['freeze', 'deploy', '--note', 'see redis://me:secret@h']);
    expect(await shown()).toMatchObject({ freeze: { note: 'see redis://***@h' } });
    expect(String(await valuesOf(freezeKey))).not.toContain('secret');
  });

  test('the verbs that acquire are refused as well', async () => {
    await freeze();
    for (const verb of ['acquire', 'hold']) {
      const { code, stderr } = await ctl(masters, [verb, 'deploy', '-n']);
      expect({ code, stderr }).toEqual({ code: 75, stderr: expect.stringMatching(/: frozen by /) });
    }
  });

  test('the present run goes on, and is extended; the next one waits until the thaw', async () => {
    const script = 'read line; echo "$line"';
    const run = rig.start(['--ttl', '4s', '-k', '200ms', 'deploy', '-c', script], {
      stdin: 'pipe',
    });
    await isHeld();
    const { code, stdout } = await freeze();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^frozen: "deploy": no new run starts, on 3 of 3 masters; the present one goes on: /,
      ),
    });
    expect(await shown()).toMatchObject({ state: 'held', freeze: { note: why, votes: 3 } });
    const next = rig.start(['deploy', '--', 'echo', 'next']);
    // An extension raises a counter that is behind, and none above the highest.
    const highest = async () => Math.max(...(await valuesOf('{redlock:deploy}:fence')).map(Number));
    const fence = await highest();
    // Longer than its ttl.
    await new Promise((resolve) => setTimeout(resolve, 4_500));
    await isOnEach(masters, 'deploy');
    run.child.stdin?.end('finished\n');
    expect(await run.result).toMatchObject({ code: 0, stdout: 'finished\n' });
    expect(await shown()).toMatchObject({ state: 'frozen', holders: [], freeze: { votes: 3 } });
    expect(await highest()).toBe(fence);
    expect((await ctl(masters, ['thaw', 'deploy'])).code).toBe(0);
    expect(await next.result).toMatchObject({ code: 0, stdout: 'next\n' });
  });

  test('a waiter with --replace does not stop the present run', async () => {
    const script = 'read line';
    const args = ['--ttl', '3s', '-k', '200ms', '--replace', 'deploy', '--', 'sh', '-c', script];
    const run = rig.start(args, { stdin: 'pipe' });
    await isHeld();
    await freeze();
    const newer = await rig.run(['--replace', '-w', '2s', 'deploy', '--', 'true']);
    expect(newer.code).toBe(75);
    run.child.stdin?.end('\n');
    expect((await run.result).code).toBe(0);
  });

  test('shown by status and list, as a person, with the note', async () => {
    await freeze('--for', '1h');
    const status = await answerOf(masters, ['status', 'deploy']);
    expect(status.code).toBe(75);
    expect(status.text.split('\n')[0]).toMatch(
      /^"deploy": frozen by .+ since \S+: .*; for another (1h|59m\S*) at most; on 3 of 3 masters$/,
    );
    expect(status.json.locks[0]).toMatchObject({
      state: 'frozen',
      holders: [],
      remainingMs: expect.any(Number),
      votes: [{ vote: 'frozen' }, { vote: 'frozen' }, { vote: 'frozen' }],
    });
    const list = await answerOf(masters, ['list']);
    expect(list.text).toMatch(
      /^deploy {2}frozen {2}3\/3 .*frozen by .*"the \\"database\\" moves; ask ann"/m,
    );
    expect(list.json.locks).toMatchObject([{ name: 'deploy', freeze: { note: why } }]);
    expect((await answerOf(masters, ['list', 'x*'])).json.locks).toEqual([]);
  });
});

describe('a freeze', () => {
  test('a pattern is no name: nothing is frozen, unless --literal is given', async () => {
    const words = ['freeze', 'dep*', '--note', 'x'];
    const refused = await ctl(masters, words);
    expect(refused).toMatchObject({ code: 64, stdout: '' });
    expect(refused.stderr).toMatch(/^redlockctl: freeze: "dep\*": a pattern, .*--literal.*\)\n$/);
    expect(await valuesOf('{redlock:dep*}:freeze')).toEqual([null, null, null]);
    expect((await ctl(masters, [...words, '--literal'])).code).toBe(0);
    expect((await rig.run(['-n', 'deploy', '--', 'true'])).code).toBe(0);
    expect((await rig.run(['-n', 'dep*', '--', 'true'])).code).toBe(75);
    const thawed = await ctl(masters, ['thaw', 'dep*', '--literal']);
    expect(thawed).toMatchObject({ code: 0, stdout: expect.stringMatching(/thawed: "dep\*"/) });
  });

  test('it ends by itself', async () => {
    await freeze('--for', '300ms');
    expect((await rig.run(['-w', '10s', 'deploy', '--', 'echo', 'ran'])).stdout).toBe('ran\n');
    expect(await valuesOf(freezeKey)).toEqual([null, null, null]);
  });

  test('a minority of masters that restarts empty changes nothing', async () => {
    await freeze();
    await all()[0].flush();
    expect((await rig.run(['-n', 'deploy', '--', 'true'])).code).toBe(75);
    expect(await shown()).toMatchObject({ state: 'frozen', freeze: { votes: 2 } });
  });

  test('a second freeze is refused, and the first one stays: 75', async () => {
    await freeze();
    const before = await valuesOf(freezeKey);
    const second = await answerOf(masters, ['freeze', 'deploy', '--note', 'mine']);
    expect(second).toMatchObject({
      code: 75,
      stderr: expect.stringMatching(/^redlockctl: taken: "deploy": frozen by .*: "the \\"database/),
      json: { outcome: 'taken', token: null },
    });
    expect(await valuesOf(freezeKey)).toEqual(before);
  });

  test('without a quorum nothing is left: 69', async () => {
    for (const master of all().slice(1)) master.freeze();
    const { code, stderr } = await freeze();
    expect({ code, stderr }).toEqual({
      code: 69,
      stderr: expect.stringMatching(
        / \(try again, or thaw it when they answer: some may show it\)\n$/,
      ),
    });
    for (const master of masters) master.thaw();
    await expect.poll(() => valuesOf(freezeKey)).toEqual([null, null, null]);
  });
});

describe('thaw', () => {
  test('ends the freeze of any person; the history names both persons', async () => {
    await freeze();
    const [value] = await valuesOf(freezeKey);
    const { token } = parseFreeze(value ?? '') ?? {};
    const { stdout } = await ctl(masters, ['thaw', 'deploy', '--note', 'moved']);
    expect(stdout).toMatch(
      /^thawed: "deploy": .*: "the \\"database\\" moves; ask ann"; removed on 3 of 3 masters\n$/,
    );
    expect(await valuesOf(freezeKey)).toEqual([null, null, null]);
    const { text, json } = await answerOf(masters, ['history', 'deploy']);
    expect(json.acts).toMatchObject([
      { act: 'freeze', note: why, token, masters: 3 },
      { act: 'thaw', note: 'moved', token, masters: 3 },
    ]);
    expect(text).toMatch(/froze it\n( +.+@.*\n)? +"the \\"database\\" moves; ask ann"$/m);
    expect(text).toMatch(/thawed it\n( +.+@.*\n)? +"moved"$/m);
  });

  test('not frozen: 0', async () => {
    expect(await answerOf(masters, ['thaw', 'deploy'])).toMatchObject({
      code: 0,
      json: { outcome: 'free', token: null },
    });
  });

  test('a master that does not answer: named, with what may be left there', async () => {
    await freeze();
    const [value] = await valuesOf(freezeKey);
    const [, , third] = all();
    third.freeze();
    const left = (what: string) => {
      const master = third.url.replaceAll('/', '\\/');
      const advice = 'redlockctl thaw "deploy" again when it answers';
      const failure = `${master}: no answer within \\d+ ms`;
      return new RegExp(`${what}; a freeze may be left .*: ${failure} \\(${advice}\\)\\n$`);
    };
    const first = await ctl(masters, ['thaw', 'deploy']);
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(left('on 2 of 3 masters')),
    });
    const again = await answerOf(masters, ['thaw', 'deploy']);
    expect(again.text).toMatch(left('nothing to thaw'));
    expect(again).toMatchObject({ code: 0, json: { outcome: 'free', failed: [third.url] } });
    third.thaw();
    // It carries out now what it was sent; as if that had been lost, the freeze stands there again.
    await expect.poll(() => third.get(freezeKey)).toBeNull();
    await third.command('set', freezeKey, value ?? '');
    expect((await rig.run(['-n', 'deploy', '--', 'echo', 'ran'])).stdout).toBe('ran\n');
    const { stdout } = await ctl(masters, ['thaw', 'deploy', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'thawed', failed: [] });
    expect(await valuesOf(freezeKey)).toEqual([null, null, null]);
  });

  test('no quorum: 69', async () => {
    await freeze();
    for (const master of all().slice(1)) master.freeze();
    expect((await ctl(masters, ['thaw', 'deploy'])).code).toBe(69);
  });

  test('the script removes exactly the freeze that was read', async () => {
    const { Calls } = await import('../../src/redis/calls/script-calls.ts');
    const calls = new Calls({ prefix: '', historyBytes: 0, protocol: 'redlock' });
    const [master] = all();
    const run = ({ script, keys, args }: ReturnType<typeof calls.toThaw>) =>
      master.command('eval', script, keys.length, ...keys, ...args);
    const thaw = (value: string) => run(calls.toThaw('k', value, ''));
    expect(await thaw('a')).toBe(-1);
    await master.command('set', '{k}:freeze', 'b');
    expect(await thaw('a')).toBe(0);
    expect(await master.get('{k}:freeze')).toBe('b');
    expect(await thaw('b')).toBe(1);
    expect(await master.get('{k}:freeze')).toBe(null);
    await master.command('hset', '{k}:freeze', 'field', 'x');
    expect(await thaw('a')).toBe(0);
    const freezing = (value: string, ms: number) => run(calls.toFreeze('k', value, ms));
    expect(await freezing('a', 0)).toEqual([0, '(a hash)']);
    await master.command('del', '{k}:freeze');
    expect(await freezing('a', 0)).toEqual([1, '']);
    expect(await freezing('b', 0)).toEqual([0, 'a']);
    expect(await freezing('a', 5_000)).toEqual([1, '']);
    expect(Number(await master.command('pttl', '{k}:freeze'))).toBeGreaterThan(1_000);
  });
});

describe('doctor', () => {
  const findings = async (): Promise<string[]> => {
    const { stdout } = await ctl(masters, ['doctor', '--json']);
    return JSON.parse(stdout)
      .findings.filter(({ check }: { check: string }) => check === 'freezes')
      .map(({ grade, message, fix }: Record<string, string | null>) =>
        [grade, message, fix].join(': '),
      );
  };
  const thaw = 'redlockctl thaw "deploy"';
  const again = `${thaw} && redlockctl freeze "deploy" --note WHY`;

  test('a freeze on all masters is fine; without one there is no finding', async () => {
    expect(await findings()).toEqual([]);
    await freeze();
    expect(await findings()).toEqual([
      expect.stringMatching(/^ok: "deploy": frozen by .* on 3 of 3/),
    ]);
  });

  test.each([
    [1, /^warning: "deploy": frozen by .*on 2 of 3 masters: /],
    [2, /^error: "deploy": bars no run: frozen by .*on 1 of 3 masters: /],
  ])('one that %d masters have forgotten, and its fix', async (count, finding) => {
    await freeze();
    for (const master of all().slice(0, count)) await master.flush();
    const [found = ''] = await findings();
    expect(found).toMatch(finding);
    expect(found.endsWith(`: ${again}`)).toBe(true);
    expect(await ctl(masters, ['thaw', 'deploy'])).toMatchObject({ code: 0 });
    expect(await freeze()).toMatchObject({ code: 0 });
    expect(await findings()).toEqual([expect.stringMatching(/^ok: .*on 3 of 3/)]);
  });

  test('what is left of a thawed freeze is to be thawed', async () => {
    await freeze();
    const [value] = await valuesOf(freezeKey);
    await ctl(masters, ['thaw', 'deploy']);
    await all()[2].command('set', freezeKey, value ?? '');
    const [found = ''] = await findings();
    expect(found).toMatch(/^warning: "deploy": bars no run: frozen by .*on 1 of 3 masters: /);
    expect(found.endsWith(`: ${thaw}`)).toBe(true);
  });

  test('one that never was on a quorum, and two different ones', async () => {
    const freezeOf = (token: string) =>
      renderFreeze({ token, user: 'u', host: 'h', pid: 1, since: 's', note: 'n' });
    await all()[0].command('set', freezeKey, freezeOf('a'));
    expect(await findings()).toEqual([expect.stringMatching(/^error: .*bars no run/)]);
    await all()[1].command('set', freezeKey, freezeOf('b'));
    expect(await findings()).toEqual([
      expect.stringMatching(/^warning: "deploy": frozen .*on 1 of 3/),
    ]);
    expect((await ctl(masters, ['thaw', 'deploy'])).code).toBe(0);
    expect(await valuesOf(freezeKey)).toEqual([null, null, null]);
  });
});

test.each([
  [['freeze', 'deploy'], /--note missing/],
  [['freeze', 'deploy', '--note', ' '], /--note: "": empty/],
  [['freeze', 'deploy', '--note', 'x'.repeat(201)], /201 characters long/],
  [['freeze', 'deploy', '--note', '😀'.repeat(100), '--for', 'soon'], /--for/],
  [['freeze', 'deploy', '--note', 'x', '--for', '0'], /over already/],
  [['freeze', 'deploy', '--note', 'x', '--until', '2020-01-01'], /over already/],
  [['freeze', 'deploy', '--note', 'x', '--until', 'noon'], /"noon": not a time/],
  [['freeze', 'deploy', '--note', 'x', '--until', '2027-02-31'], /"2027-02-31": not a time/],
  [['freeze', 'deploy', '--note', 'x', '--until', '2027-02-30T18:00'], /not a time/],
  [['freeze', 'deploy', '--note', 'x', '--until', '18:00', '--for', '1h'], /both given/],
  [['freeze', '{redlock:a}:freeze', '--note', 'x', '--prefix', ''], /is called like/],
])('%j: 64', async (args, message) => {
  const { code, stderr } = await ctl(masters, args);
  expect({ code, stderr }).toEqual({ code: 64, stderr: expect.stringMatching(message) });
});

test.each([
  ['--for', '1h30m', 5_400_000],
  ['--until', '18:00', 3_600_000],
  ['--until', '17:00', 24 * 3_600_000],
  ['--until', '2026-11-22', 7 * 3_600_000],
  ['--until', '2026-11-21T17:30', 1_800_000],
  ['--until', '2026-11-21 17:00:30', 30_000],
])('%s %s', (option, text, ms) => {
  const now = new Date('2026-11-21T17:00');
  expect(freezeMsOf({ textOf: (long) => (long === option ? text : null) }, now)).toBe(ms);
});
