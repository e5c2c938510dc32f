// At a terminal the keys have the same effect with redlock-run as without it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { takeBy } from '../cli/rig.ts';
import { eventually, isFrozen } from '../servers/processes.ts';
import { pass, sharedMasters } from './rig.ts';
import { obstacle, Terminal } from './terminal.ts';
import { allProcesses } from './witness.ts';

if (obstacle !== null) process.stderr.write(`  SKIPPED: keys at a terminal: ${obstacle}\n`);

const terminals: Terminal[] = [];
afterAll(() => Promise.all(terminals.map((terminal) => terminal.close())));

async function openTerminal(): Promise<Terminal> {
  const terminal = await Terminal.open(await sharedMasters());
  terminals.push(terminal);
  return terminal;
}

/** Says "ready", and "got SIGNAL" for each signal; never ends by itself. */
const trapAll = 'for s in INT TERM HUP; do trap "echo got $s" $s; done';
const counts = `bash -c '${trapAll}; echo ready; while :; do sleep 0.2; done'`;
/**
 * Two presses by one tmux: a busy machine would start a second one too late for them to be one
 * wish. No person is faster, and two at once are one to the kernel.
 */
const twice = ['C-c', ';', 'run-shell', 'sleep 0.2', ';', 'send-keys', 'C-c'];
const timesOf = (pattern: RegExp, screen: string) => [...screen.matchAll(pattern)].length;

describe.skipIf(obstacle !== null).concurrent('keys at a terminal', () => {
  it.each([
    ['in front', ''],
    ['in a session of its own', '--no-foreground'],
  ])(
    'Ctrl-C reaches a command %s once, and it goes on; twice in a moment ends it',
    async (_title, flag) => {
      const terminal = await openTerminal();
      const isInFront = flag === '';
      await terminal.type(`rl ${flag} -k 500ms $JOB -- ${counts}`);
      await terminal.shows(/^ready/m);
      if (isInFront) {
        await terminal.press('C-c');
        await terminal.shows(/got INT/);
        await pass(2_500); // Longer than two presses may be apart.
        expect(timesOf(/got INT/g, await terminal.screen())).toBe(1);
      }
      await terminal.press(...twice);
      await terminal.shows(/prompt>$/);
      await terminal.type('echo "code $?"');
      const screen = await terminal.shows(/^code \d+/m);
      expect(screen).toMatch(/^code 130/m);
      expect(screen).not.toMatch(/got (TERM|HUP)/);
    },
  );

  it('Ctrl-C stops a loop of the shell, as without redlock-run', async () => {
    const terminal = await openTerminal();
    await terminal.type(
      'for i in 1 2 3; do rl $JOB -- sh -c "echo ready; exec sleep 100"; echo "went on"; done',
    );
    await terminal.shows(/^ready/m);
    await terminal.press('C-c');
    const screen = await terminal.shows(/\^C\s*prompt>$/);
    expect(screen).not.toMatch(/^went on/m);
    expect(timesOf(/^ready/gm, screen)).toBe(1);
  });

  it('Ctrl-C while it waits ends it at once', async () => {
    const terminal = await openTerminal();
    await takeBy('them', await sharedMasters(), terminal.mark);
    await terminal.type('rl $JOB -- true');
    await terminal.shows(/held by/);
    await terminal.press('C-c');
    await terminal.type('echo "code $?"');
    await terminal.shows(/^code 130/m);
  });

  it.each([
    ['in front', ''],
    ['in a session of its own', '--no-foreground'],
  ])('Ctrl-Z stops a command %s and us, and fg goes on', async (_title, flag) => {
    const terminal = await openTerminal();
    // It starts nothing: a shell whose child is stopped before its exec is not stopped but in wait.
    const told = join(terminal.folder, 'told');
    const script =
      `$| = 1; print "ready\\n"; ` +
      `select undef, undef, undef, 0.05 until -e "$ENV{HOME}/told"; print "over\\n"`;
    await terminal.type(`rl ${flag} $JOB -- perl -e '${script}'; echo "code $?"`);
    await terminal.shows(/^ready/m);
    await terminal.press('C-z');
    await terminal.shows(/Stopped/);
    const job = () =>
      allProcesses(/^$/).filter(
        ({ command }) => /perl -e/.test(command) && command.includes(terminal.mark),
      );
    await eventually(
      'all of it is stopped',
      () => job().length >= 2 && job().every(({ pid }) => isFrozen(pid)),
    );
    writeFileSync(told, '');
    await pass(500);
    expect(await terminal.screen()).not.toMatch(/^over/m);
    await terminal.type('fg');
    await terminal.shows(/^over/m);
  });

  it('Ctrl-Z for longer than the lock lasts ends the command; fg says so', async () => {
    const terminal = await openTerminal();
    await terminal.type('rl --ttl 5s -k 200ms $JOB -- sh -c "echo ready; exec sleep 100"');
    await terminal.shows(/^ready/m);
    await terminal.press('C-z');
    await terminal.shows(/Stopped/);
    await pass(5_500);
    const left = allProcesses().filter(
      ({ command }) => /sleep 100/.test(command) && command.includes(terminal.mark),
    );
    expect(left).toEqual([]);
    await terminal.type('fg; echo "code $?"');
    const screen = await terminal.shows(/^code \d+/m);
    expect(screen, screen).toMatch(/^code 79/m);
    expect(screen).toMatch(/redlock-run: lost: "\w+": suspended/);
  });
});

describe.skipIf(obstacle !== null).concurrent('at a terminal', () => {
  it('less shows, scrolls, survives Ctrl-C and restores the terminal', async () => {
    const terminal = await openTerminal();
    const file = join(terminal.folder, 'text');
    writeFileSync(
      file,
      Array.from({ length: 500 }, (_, index) => `line ${index + 1} of it\n`).join(''),
    );
    await terminal.type(`rl $JOB -- less ${file}; echo "code $?"`);
    await terminal.shows(/^line 1 of it/m);
    await terminal.press('G');
    await terminal.shows(/^line 500 of it/m);
    await terminal.press('C-c');
    // A key that comes together with the signal is lost: less jumps out of its read.
    await eventually('less goes on', async () => {
      await terminal.press('g');
      return /^line 1 of it/m.test(await terminal.screen());
    });
    await terminal.press('q');
    await terminal.shows(/^code 0/m);
    await terminal.type('stty -a | grep -o "[-]*icanon" | sed s/^/is:/');
    await terminal.shows(/^is:icanon/m);
  });

  it('/dev/tty and job control work although stdin is a pipe', async () => {
    const terminal = await openTerminal();
    await terminal.type(
      `echo piped | rl $JOB -- sh -c 'read a; echo "ask"; read b </dev/tty; echo "$a and $b"'`,
    );
    await terminal.shows(/^ask/m);
    await terminal.type('typed');
    await terminal.shows(/^piped and typed/m);
    await terminal.type('PS1="inner> " rl $JOB -- bash --norc -i');
    const screen = await terminal.shows(/^inner>/m);
    expect(screen).not.toMatch(/no job control/);
    await terminal.type('exit 3');
    await terminal.type('echo "code $?"');
    await terminal.shows(/^code 3/m);
  });

  it('a neighbour in the pipe survives when the run is killed', async () => {
    const terminal = await openTerminal();
    await terminal.type(
      "rl -k 300ms $JOB -- sh -c 'echo ready; exec sleep 100' | " +
        `sh -c 'cat; echo "neighbour lives"'`,
    );
    await terminal.shows(/^ready/m);
    const [run] = allProcesses(/^$/).filter(
      ({ command }) => /redlock-run\.js -k 300ms/.test(command) && command.includes(terminal.mark),
    );
    process.kill(run?.pid ?? Number.NaN, 'SIGKILL');
    await terminal.shows(/^neighbour lives/m);
    const left = allProcesses().filter(
      ({ command }) => /sleep 100/.test(command) && command.includes(terminal.mark),
    );
    expect(left).toEqual([]);
  });

  it('with --isolate, Ctrl-C and /dev/tty are as without', async () => {
    const terminal = await openTerminal();
    await terminal.type(
      `rl --isolate $JOB -- sh -c 'read b </dev/tty; echo "got $b"; exec sleep 100'`,
    );
    await pass(1_500);
    await terminal.type('typed');
    const screen = await terminal.shows(/^got typed|--isolate: not possible/m);
    if (/not possible/.test(screen)) return;
    await terminal.press('C-c');
    await terminal.type('echo "code $?"');
    await terminal.shows(/^code 130/m);
  });
});
