// `top` on a real terminal of 80 columns: what it shows, and that it always restores the terminal.
// The lines are tested in unit/ctl.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTop } from '../../src/ctl/top.ts';
import { useMasters } from '../cli/rig.ts';
import type { TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { survivorsOf } from '../servers/survivors.ts';
import { obstacle, Terminal } from '../supervision/terminal.ts';
import { ctl, hold, queryOf, queueUp } from './rig.ts';

const { masters, run } = useMasters(3);
const all = () => masters as [TestMaster, TestMaster, TestMaster];

test('with a pattern it shows no other locks, frozen ones included', async () => {
  for (const name of ['deploy', 'backup']) await hold(masters, name);
  for (const name of ['depot', 'base']) await ctl(masters, ['freeze', name, '--note', 'x']);
  const query = queryOf(masters);
  const { locks } = await readTop(query, 'dep*');
  expect(locks.map(({ name }) => name).sort()).toEqual(['deploy', 'depot']);
  query.close();
});

test('locks show ended runs', async () => {
  await run(['--hold-at-least', '1m', 'kept', '--', 'true']);
  await hold(masters, 'deploy');
  const query = queryOf(masters);
  const { locks } = await readTop(query, '*');
  const ended = locks.filter(({ holders }) => holders[0]?.endedAt !== null);
  expect(ended.map(({ name }) => name)).toEqual(['kept']);
  query.close();
});

test('without a terminal it says what to use instead', async () => {
  const stderr = expect.stringMatching(
    /^redlockctl: top: no terminal \(redlockctl list prints once/,
  );
  expect(await ctl(masters, ['top'])).toMatchObject({ code: 64, stdout: '', stderr });
});

describe.skipIf(obstacle !== null)('on a terminal', () => {
  let terminal: Terminal;
  beforeAll(async () => {
    terminal = await Terminal.open(masters, 80);
  });
  afterAll(() => terminal.close());

  const start = (args = '') =>
    terminal.type(`clear; ${args} ctl top; echo "code $?"; stty -a | grep -o 'echo\\b.*echonl'`);

  async function expectClean(code: number): Promise<void> {
    const screen = await terminal.shows(new RegExp(`code ${code}\\n`));
    expect(screen).not.toMatch(/redlockctl top|MASTER/);
    expect(await terminal.ask('alternate_on')).toBe('0');
    expect(await terminal.ask('cursor_flag')).toBe('1');
    await terminal.shows(/^echo echoe/m);
  }

  test('shows masters, locks and waiters, and q leaves the terminal clean', async () => {
    await hold(masters, 'backup');
    await hold(masters, 'deploy');
    const leave = await queueUp(masters, 'deploy', 2);
    await start();
    const screen = await terminal.shows(/^deploy +held .* 2 /m);
    expect(screen).toMatch(
      /^redlockctl top {2}3 masters, quorum 2 {2}2 locks, 2 waiting {2}\d\d:\d\d:\d\d\n/,
    );
    for (const { url } of masters)
      expect(screen).toMatch(new RegExp(`^${url} +\\d+\\.\\d ms *$`, 'm'));
    expect(screen).toMatch(
      /^NAME .*\ndeploy .*\nbackup +held +3\/3 +\S+ +ops@web1 \d+ deploy\.sh/m,
    );
    expect(await terminal.ask('alternate_on')).toBe('1');
    await leave();
    await terminal.shows(/2 locks, 0 waiting/);
    await terminal.press('q');
    await expectClean(0);
  });

  test('a master that freezes is named, and q works meanwhile', async () => {
    await start();
    await terminal.shows(/no locks/);
    await all()[1].freeze();
    await terminal.shows(/no answer within 1500 ms/);
    await terminal.press('q');
    await expectClean(0);
  });

  test('TERM leaves the terminal clean as well', async () => {
    await start();
    await terminal.shows(/no locks/);
    const [survivor] = await eventually('it runs', () =>
      nonEmpty(
        survivorsOf(terminal.mark).filter(({ command }) => command.includes('redlockctl.js')),
      ),
    );
    process.kill(survivor?.pid ?? Number.NaN, 'SIGTERM');
    await expectClean(143);
  });

  test('colours problems, and nothing under NO_COLOR', async () => {
    await all()[0].command('set', 'redlock:orphan', 'x');
    const colour = '\u001b[33m';
    for (const [args, isColoured] of [
      ['', true],
      ['NO_COLOR=1', false],
    ] as const) {
      await start(args);
      await terminal.shows(/^orphan +orphan +1\/3/m);
      expect((await terminal.screen('-e')).includes(colour)).toBe(isColoured);
      await terminal.press('q');
      await terminal.shows(/code 0\n/);
    }
  });
});

function nonEmpty<Item>(items: Item[]): Item[] | null {
  return items.length > 0 ? items : null;
}
