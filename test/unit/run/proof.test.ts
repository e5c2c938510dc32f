// A gate is used only where a command that passes it sees what it would have seen without one, and where nobody says a word about it.

import { execa } from 'execa';
import { expect, it } from 'vitest';
import { Proof } from '../../../src/run/proof.ts';
import { isPlainShell } from '../../servers/shell.ts';

const { PATH = '' } = process.env;
const before = { PATH, HOME: '/', EMPTY: '', TEXT: `it's "$HOME" \\ \`x\`  y`, LINES: 'one\ntwo\n' };
const added = { REDLOCK_FENCE: '7', REDLOCK_NAME: `a'b "c" $d \\n \`e\` ü%0A`, REDLOCK_HELD: '' };

async function isFaithful(environment: Record<string, string>, more: Record<string, string> = added, start = execa) {
  const proof = new Proof(start, environment);
  const isSo = await proof.isFaithful({ ...environment, ...more });
  await proof.close();
  return isSo;
}

/** Instead of /bin/sh. */
const shell = (script: string) =>
  ((_file: string, _words: string[], options: object) =>
    execa('sh', ['-c', script], options)) as unknown as typeof execa;

it.skipIf(!isPlainShell)('a shell that adds nothing is faithful', async () => {
  expect(await isFaithful(before)).toBe(true);
  expect(await isFaithful({ PATH })).toBe(true);
});

it.each([
  ['npm_config_//registry/:_x', 'x'],
  ['BASH_FUNC_f%%', '() { :; }'],
  ['a.b', ''],
  ['IFS', 'x'],
  ['PWD', '/nowhere'],
  ['OPTIND', 'x'],
])('it is not, to %s', async (name, value) => {
  expect(await isFaithful({ ...before, [name]: value })).toBe(false);
});

it('a command that shows all and complains as well is no proof', async () => {
  const shows = 'read -r line <&3; eval "$(printf %s "$line" | sed "s/; exec.*//")"; cat /proc/self/environ';
  const bare = { PATH };
  expect(await isFaithful(bare, added, shell(shows))).toBe(true); // It could be one.
  expect(await isFaithful(bare, added, shell(`${shows}; echo a word >&2`))).toBe(false);
});

it('nothing is a proof that is not to be had: a value of several lines, no program to show it, a shell that hangs', async () => {
  expect(await isFaithful(before, { REDLOCK_NAME: 'two\nlines' })).toBe(false);
  expect(await isFaithful({ PATH: '/nowhere' })).toBe(false);
  expect(await isFaithful(before, added, shell('sleep 600'))).toBe(false);
});

it('a proof that is cut short ends at once, and so does whatever it has started', async () => {
  const proof = new Proof(shell('sleep 600 & wait'), before);
  const proving = proof.isFaithful({ ...before, ...added });
  await proof.close();
  expect(await proving).toBe(false);
});
