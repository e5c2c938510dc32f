// A shell that becomes the command when it is told to: what the command sees is what it would have seen without one, and nobody is
// left of a gate that nobody passed.

import { readFileSync, realpathSync } from 'node:fs';
import type { Socket } from 'node:net';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { Gate } from '../../../src/run/gate.ts';
import { type Subprocess, startSubprocess } from '../../../src/run/subprocess.ts';
import { processTable } from '../../../src/run/tree/process-table.ts';

const { PATH = '' } = process.env;
const before = { PATH, HOME: '/', EMPTY: '', TEXT: `it's "$HOME" \\ \`x\`  y`, LINES: 'one\ntwo\n' };
const after = { ...before, REDLOCK_FENCE: '7', REDLOCK_NAME: `a'b "c" $d \\n \`e\` ü%0A`, REDLOCK_HELD: '' };
const streams = ['ignore', 'pipe', 'pipe'] as const;

const readAll = (subprocess: Subprocess | null) =>
  new Promise<string>((resolve) => {
    let text = '';
    subprocess?.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    subprocess?.on('close', () => resolve(text));
  });

const isThere = (gate: Gate) => processTable.startedAt(gate.pid as number) !== null;

it('is the same process before and after, which leads its session, and the command does not get the pipe', async () => {
  const gate = new Gate(execa, ['sh', '-c', 'echo $$; ls /proc/$$/fd; readlink /proc/$$/exe'], before, streams);
  const { pid } = gate;
  expect(await shellOf(gate)).toMatchObject({ session: pid, group: pid });
  const [said = '', ...rest] = (await readAll(gate.pass(after))).trim().split('\n');
  expect(said).toBe(String(pid));
  const descriptors = rest.slice(0, -1);
  expect(descriptors).toEqual(expect.arrayContaining(['0', '1', '2']));
  expect(descriptors).not.toContain('3');
  expect(rest.at(-1)).toBe(realpathSync('/bin/sh'));
});

it('hands over words to the letter, and what the command says is all that is said', async () => {
  const words = ['-n', "it's", '$HOME', '', '*', 'two\nlines', '\\'];
  const gate = new Gate(execa, ['printf', '<%s>', ...words], before, streams);
  const subprocess = gate.pass(after);
  const complaints = new Promise((resolve) => subprocess?.stderr?.once('data', resolve).once('end', () => resolve('')));
  expect(await readAll(subprocess)).toBe(words.map((word) => `<${word}>`).join(''));
  expect(await complaints).toBe('');
});

it('passes also with nothing added, and says nothing of it', async () => {
  const gate = new Gate(execa, ['echo', 'started'], before, streams);
  expect(await readAll(gate.pass(before))).toBe('started\n');
});

it('shows nothing of ours until somebody passes', async () => {
  const gate = new Gate(execa, ['true'], before);
  expect(await shellOf(gate)).toMatchObject({ found: ['HOME=/'], isBlank: false });
  await gate.close();
  expect(isThere(gate)).toBe(false);
});

it.each<[string, (gate: Gate) => unknown]>([
  ['closed', (gate) => gate.close()],
  ['killed', (gate) => process.kill(gate.pid as number, 'SIGKILL')],
])('starts nothing when it has been %s', async (_title, act) => {
  const gate = new Gate(execa, ['echo', 'started'], before, streams);
  await act(gate);
  await expect.poll(() => isThere(gate)).toBe(false);
  await new Promise(setImmediate);
  expect(gate.pass(after)).toBeNull();
  await gate.close();
});

it('is closed with all that a shell has started instead of waiting', async () => {
  // As a wrapper would, in the place of /bin/sh.
  const start = ((_file: string, _words: string[], options: object) =>
    execa('sh', ['-c', 'sleep 600 & echo $!; wait'], options)) as unknown as typeof execa;
  let said = '';
  let subprocess: Subprocess | undefined;
  const watched = ((...words: Parameters<typeof execa>) => {
    subprocess = start(...words) as unknown as Subprocess;
    return subprocess;
  }) as unknown as typeof execa;
  const gate = new Gate(watched, [], before, streams);
  subprocess?.stdout?.on('data', (chunk) => {
    said += chunk;
  });
  await expect.poll(() => said).toMatch(/^\d+\n/);
  await gate.close();
  await expect.poll(() => processTable.read(0, [], { first: Number(said), last: Number(said) }).entries).toEqual([]);
});

it('does not pass with a value of several lines', async () => {
  const gate = new Gate(execa, ['echo', 'started'], before, streams);
  expect(gate.pass({ ...after, REDLOCK_NAME: 'two\nlines' })).toBeNull();
  expect(isThere(gate)).toBe(true);
  await gate.close();
});

it('is nobody where nobody can be started, and closing it ends nobody', async () => {
  const start = ((_file: string, words: string[], options: object) =>
    execa('/nowhere/sh', words, options)) as unknown as typeof execa;
  const gate = new Gate(start, ['true'], before, streams);
  expect(gate.pid).toBeUndefined();
  expect(gate.pass(after)).toBeNull();
  await gate.close();
});

it('does nothing with half a line: whoever wrote it is gone', async () => {
  let line: Socket | undefined;
  const start = ((...words: Parameters<typeof execa>) => {
    const subprocess = execa(...words);
    line = (subprocess as unknown as Subprocess).stdio[3] as Socket;
    return subprocess;
  }) as unknown as typeof execa;
  const gate = new Gate(start, ['echo', 'started'], before, streams);
  await new Promise((resolve) => line?.write("export A='1'; exec true", resolve));
  line?.destroy();
  await expect.poll(() => isThere(gate)).toBe(false);
});

it('a process as execa starts it has the environment that it is given and no more', async () => {
  const plan = { environment: { PATH, A: 'b' }, isLeader: true, hasPipe: false, streams };
  const subprocess = startSubprocess(execa, ['cat', '/proc/self/environ'], plan);
  expect((await readAll(subprocess)).split('\0').sort()).toEqual(['', 'A=b', `PATH=${PATH}`]);
});

/** Once it is a shell, and not a copy of ourselves any more. */
async function shellOf({ pid: first = 0 }: Gate) {
  await expect.poll(() => readFileSync(`/proc/${first}/comm`, 'utf8')).toBe('sh\n');
  return processTable.read(0, ['REDLOCK', 'HOME=/'], { first, last: first }).entries[0];
}
