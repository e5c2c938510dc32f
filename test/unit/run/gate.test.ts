// A shell that becomes the command when it is told to: what the command sees is what it would have seen without one, and nobody is
// left of a gate that nobody passed.

import { readFileSync, realpathSync } from 'node:fs';
import type { Socket } from 'node:net';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { canPass, Gate, isFaithful } from '../../../src/run/gate.ts';
import type { Subprocess } from '../../../src/run/subprocess.ts';
import { processTable } from '../../../src/run/tree/process-table.ts';

const { PATH = '' } = process.env;
const before = { PATH, HOME: '/', EMPTY: '', TEXT: `it's "$HOME" \\ \`x\`  y`, LINES: 'one\ntwo\n' };
const after = { ...before, REDLOCK_FENCE: '7', REDLOCK_NAME: `a'b "c" $d \\n \`e\` ü%0A`, REDLOCK_HELD: '' };

const readAll = (subprocess: Subprocess | null) =>
  new Promise<string>((resolve) => {
    let text = '';
    subprocess?.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    subprocess?.on('close', () => resolve(text));
  });

const isThere = (gate: Gate) => processTable.startedAt(gate.pid as number) !== null;

it('is the same process before and after, which leads its session', async () => {
  const gate = new Gate(execa, ['sh', '-c', 'echo $$; ls /proc/$$/fd; readlink /proc/$$/exe'], before, 'pipe');
  const { pid } = gate;
  expect(await shellOf(gate)).toMatchObject({ session: pid, group: pid });
  const [said = '', ...rest] = (await readAll(gate.pass(after))).trim().split('\n');
  expect(said).toBe(String(pid));
  const descriptors = rest.slice(0, -1);
  expect(descriptors).toEqual(expect.arrayContaining(['0', '1', '2']));
  expect(descriptors).not.toContain('3');
  expect(rest.at(-1)).toBe(realpathSync('/bin/sh'));
});

it('hands over words and variables to the letter', async () => {
  const words = ['-n', "it's", '$HOME', '', '*', 'two\nlines', '\\'];
  const gate = new Gate(execa, ['printf', '<%s>', ...words], before, 'pipe');
  expect(await readAll(gate.pass(after))).toBe(words.map((word) => `<${word}>`).join(''));
});

it.skipIf(!/dash|busybox/.test(realpathSync('/bin/sh')))(
  'is proven to be faithful where the shell adds nothing',
  async () => {
    expect(await isFaithful(execa, before, after)).toBe(true);
    expect(await isFaithful(execa, {}, { PATH, REDLOCK_FENCE: '' })).toBe(true);
  },
);

it.each([
  ['npm_config_//registry/:_x', 'x'],
  ['BASH_FUNC_f%%', '() { :; }'],
  ['a.b', ''],
  ['IFS', 'x'],
  ['PWD', '/nowhere'],
])('is known not to be faithful to %s', async (name, value) => {
  expect(await isFaithful(execa, { ...before, [name]: value }, { ...after, [name]: value })).toBe(false);
});

it('shows nothing of ours until somebody passes', async () => {
  const gate = new Gate(execa, ['true'], before);
  expect(await shellOf(gate)).toMatchObject({ found: ['HOME=/'], isBlank: false });
  gate.close();
});

it('starts nothing when it is closed, or cannot pass', async () => {
  for (const act of [(gate: Gate) => gate.close(), (gate: Gate) => process.kill(gate.pid as number, 'SIGKILL')]) {
    const gate = new Gate(execa, ['echo', 'started'], before, 'pipe');
    act(gate);
    await expect.poll(() => isThere(gate)).toBe(false);
    await new Promise(setImmediate);
    expect(gate.pass(after)).toBeNull();
  }
  const gate = new Gate(execa, ['echo', 'started'], before, 'pipe');
  expect(gate.pass({ ...after, REDLOCK_NAME: 'two\nlines' })).toBeNull();
  expect(isThere(gate)).toBe(true);
  gate.close();
});

it('does nothing with half a line: whoever wrote it is gone', async () => {
  let line: Socket | undefined;
  const start = ((...words: Parameters<typeof execa>) => {
    const subprocess = execa(...words);
    line = (subprocess as unknown as Subprocess).stdio[3] as Socket;
    return subprocess;
  }) as unknown as typeof execa;
  const gate = new Gate(start, ['echo', 'started'], before, 'pipe');
  const started = new Promise((resolve) => line?.write("export A='1'; ", resolve));
  await started;
  line?.destroy();
  await expect.poll(() => isThere(gate)).toBe(false);
});

it('says what it cannot look up as the system does', () => {
  expect(canPass(['sh'], { PATH })).toBe(true);
  expect(canPass(['./job'], {})).toBe(true);
  expect(canPass(['sh'], {})).toBe(false);
  expect(canPass(['sh'], { PATH: '' })).toBe(false);
  expect(canPass(['-x'], { PATH })).toBe(false);
});

/** Once it is a shell, and not a copy of ourselves any more. */
async function shellOf({ pid: first = 0 }: Gate) {
  await expect.poll(() => readFileSync(`/proc/${first}/comm`, 'utf8')).toBe('sh\n');
  return processTable.read(0, ['REDLOCK', 'HOME=/'], { first, last: first }).entries[0];
}
