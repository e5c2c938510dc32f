// Jobs that use the terminal as interactive programs do, and the state of the terminal and of the
// jobs afterwards.

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { renderValue } from '../../src/lock/value.ts';
import { takeBy } from '../cli/rig.ts';
import { eventually } from '../servers/processes.ts';
import { survivorsOf } from '../servers/survivors.ts';
import { pass, sharedMasters } from './rig.ts';
import { obstacle, Terminal } from './terminal.ts';

if (obstacle !== null) process.stderr.write(`  SKIPPED: jobs at a terminal: ${obstacle}\n`);

const terminals: Terminal[] = [];
afterAll(() => Promise.all(terminals.map((terminal) => terminal.close())));

async function openTerminal(): Promise<Terminal> {
  const terminal = await Terminal.open(await sharedMasters());
  terminals.push(terminal);
  return terminal;
}

const slowly = 30_000;

describe.skipIf(obstacle !== null)('at a terminal', () => {
  it.concurrent.each([
    ['in front', ''],
    ['in a session of its own', '--no-foreground'],
  ])('a command %s reads what is typed', async (_title, flag) => {
    const terminal = await openTerminal();
    await terminal.type(`rl ${flag} $JOB -- sh -c 'echo ready; read -r a; echo "got $a"'`);
    await terminal.shows(/^ready/m, slowly);
    await terminal.type('typed');
    await terminal.shows(/^got typed/m, slowly);
  });

  it.concurrent('a shell inside has jobs, and its code is ours', async () => {
    const terminal = await openTerminal();
    await terminal.type('PS1="inner> " rl $JOB -- bash --norc -i; echo "code $?"');
    await terminal.shows(/^inner>$/m, slowly);
    await terminal.type('sleep 101; echo "after 1: $?"');
    await runs(terminal, /sleep 101/);
    await terminal.press('C-c');
    await terminal.shows(/^inner>$/m, slowly);
    await terminal.type('sleep 102');
    await runs(terminal, /sleep 102/);
    await terminal.press('C-z');
    await terminal.shows(/Stopped +sleep 102/, slowly);
    await terminal.type('fg');
    await terminal.shows(/^sleep 102/m, slowly);
    await terminal.press('C-c');
    await terminal.type('exit 5');
    const screen = await terminal.shows(/^code \d+/m, slowly);
    expect(screen).toMatch(/^code 5$/m);
    expect(screen).not.toMatch(/no job control|redlock-run:/);
  });

  it.concurrent('a job in the background that leaves it alone runs to its end', async () => {
    const terminal = await openTerminal();
    const file = join(terminal.folder, 'ran');
    await terminal.type(`rl $JOB -- sh -c 'sleep 1; touch ${file}; exit 4' &`);
    await eventually('it has run', () => existsSync(file), slowly);
    await terminal.type('wait $!; echo "code $?"');
    await terminal.shows(/^code 4/m, slowly);
  });

  it.concurrent('the modes that a command sets stay, as they do without redlock-run', async () => {
    const terminal = await openTerminal();
    const script = join(terminal.folder, 'script');
    const modes = `stty -a | grep -oE -- '-?\\b(icanon|echo|isig|onlcr)\\b' | sort | xargs`;
    writeFileSync(script, `rl $JOB -- stty -echo; echo "code $?"; ${modes}; stty echo\n`);
    await terminal.type(`sh ${script}; echo over`);
    const screen = await terminal.shows(/^over$/m, slowly);
    expect(screen).toMatch(/^code 0\n(-echo icanon|icanon -echo) isig onlcr\nover$/m);
  });

  it.concurrent('a prompt after a run keeps the modes that it has set', async () => {
    const terminal = await openTerminal();
    const device = await terminal.ask('pane_tty');
    const modes = () => spawnSync('stty', ['-a', '-F', device], { encoding: 'utf8' }).stdout;
    for (const round of [1, 2, 3]) {
      await terminal.type(`rl $JOB -- echo ran ${round}`);
      await terminal.shows(new RegExp(`^ran ${round}\\s+prompt>$`, 'm'), slowly);
      const isSet = () => /-icanon\b/.test(modes()) && /-echo\b/.test(modes());
      await eventually('the shell has set its modes', isSet);
      await pass(500); // The guard, which may end later, has ended.
      expect(isSet(), modes()).toBe(true);
    }
  });

  it.concurrent('closing it ends the command, and then the lock is free', async () => {
    const masters = await sharedMasters();
    const terminal = await openTerminal();
    await terminal.type(`rl $JOB -- sh -c 'echo ready; sleep 600; :'`);
    await terminal.shows(/^ready/m, slowly);
    const holding = async () => {
      const key = `redlock:${terminal.mark}`;
      const values = await Promise.all(masters.map((master) => master.get(key)));
      return values.filter((value) => value !== null).length;
    };
    expect(await holding()).toBeGreaterThanOrEqual(2);
    await terminal.close();
    // The ttl is 30 s, so the lock is released, and has not expired.
    await eventually('the lock is free', async () => (await holding()) < 2, 20_000);
    const left = survivorsOf(terminal.mark).map(({ command }) => command);
    expect(left.filter((command) => /^(sh -c|sleep)/.test(command))).toEqual([]);
  });
});

async function runs(terminal: Terminal, command: RegExp): Promise<void> {
  const isThere = () => survivorsOf(terminal.mark).some((one) => command.test(one.command));
  await eventually(`${command} runs`, isThere, slowly);
}

describe.skipIf(obstacle !== null)('a wait at a terminal', () => {
  const waiting =
    /^(\S )?waiting \d+s \(of 1h\) for "\w+": 1st in the queue; held by .*\) for \d+s$/m;

  /** A terminal in which a lock is held, and `wait` waits for it for an hour at most. */
  async function openWaiting(columns = 250, environment = ''): Promise<Terminal> {
    const terminal = await Terminal.open(await sharedMasters(), columns);
    terminals.push(terminal);
    const record = { host: 'web1', pid: 4711, user: 'ops', label: 'deploy.sh' };
    const holder = renderValue('theirs', { ...record, since: new Date().toISOString() });
    await takeBy(holder, await sharedMasters(), terminal.mark, 90_000);
    await terminal.type(`clear; ${environment} rl -w 1h $JOB -- echo ran`);
    return terminal;
  }

  it.concurrent('is one line that counts, gone when it ends', async () => {
    const terminal = await openWaiting();
    const first = await terminal.shows(waiting, slowly);
    const count = (screen: string) => /waiting (\d+)s/.exec(screen)?.[1];
    // A screen may be read while the line is being drawn again.
    const later = await eventually('it counts', async () => {
      const screen = await terminal.screen();
      return ![count(first), undefined].includes(count(screen)) && screen;
    });
    expect(later.match(/waiting/g)).toHaveLength(1);
    const isCyan = async () => (await terminal.screen('-e')).includes('\x1b[36mwaiting');
    await eventually('it is cyan', isCyan);
    await terminal.press('C-c');
    await eventually('it is gone', async () => !(await terminal.screen()).includes('waiting '));
  });

  it.concurrent('is in rows of whole words on a narrow one, without colours if set', async () => {
    const terminal = await openWaiting(40, 'NO_COLOR=1');
    const look = async () => {
      const rows = (await terminal.screen('-e')).split('\n');
      const begin = rows.findIndex((row) => /^(\S )?waiting/.test(row));
      return waiting.test(rows.slice(begin).join(' ').trim()) && rows.slice(begin);
    };
    const rows = await eventually('the line is drawn', look, slowly);
    expect(rows.filter((row) => row.length >= 40 && row.includes(' '))).toEqual([]);
  });

  it.concurrent('with TERM=dumb is printed once', async () => {
    const terminal = await openWaiting(250, 'TERM=dumb');
    const told = /waiting \d+s/;
    const first = told.exec(await terminal.shows(told, slowly))?.[0];
    await pass(2_500);
    expect(told.exec(await terminal.screen())?.[0]).toBe(first);
    expect((await terminal.screen()).match(/waiting/g)).toHaveLength(1);
  });

  it.concurrent('in the background draws nothing, and goes on in front', async () => {
    const terminal = await openWaiting();
    await terminal.shows(waiting, slowly);
    await terminal.press('C-z');
    await terminal.shows(/Stopped/, slowly);
    await terminal.type('bg; clear');
    await pass(2_500);
    expect(await terminal.screen()).not.toContain('waiting');
    await terminal.type('clear; fg');
    await terminal.shows(waiting, slowly);
  });
});
