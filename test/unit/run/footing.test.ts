// When a command may have a process ahead of it, and when what it was made for is not there any more.

import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { footingOf, isUnchanged } from '../../../src/run/footing.ts';

const cwd = process.cwd;
let folder = '';
let work = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footing-'));
  work = join(folder, 'work');
  mkdirSync(work);
  process.cwd = () => work;
  put('shell', '\x7fELF...');
  put('job', `#! ${join(folder, 'shell')} -x\necho`);
});
afterEach(() => {
  process.cwd = cwd;
  rmSync(folder, { recursive: true });
});

function put(name: string, text: string): void {
  writeFileSync(join(folder, name), text, 'latin1');
  chmodSync(join(folder, name), 0o755);
}

const footing = (word: string, PATH?: string) => footingOf([word], { PATH });

it.each<[string, string, boolean]>([
  ['a program by its path', 'FOLDER/shell', true],
  ['a script by its name', 'job', true],
  ['one that is not there', 'nothing', false],
  ['one that is no program of its own', 'FOLDER/plain', false],
  ['one whose interpreter is not there', 'FOLDER/orphan', false],
  ['a word that a shell takes for an option', '-x', false],
  ['nothing', '', false],
])('%s', (_title, word, isHad) => {
  put('plain', 'echo');
  put('orphan', '#!/nowhere/sh\n');
  put('-x', '\x7fELF');
  expect(footing(word.replace('FOLDER', folder), folder) !== null).toBe(isHad);
});

it('needs a PATH to look names up in, as shells have one of their own', () => {
  expect(footing('job', '')).toBeNull();
  expect(footing('job')).toBeNull();
  expect(footing(join(folder, 'job'))).not.toBeNull();
});

it.each(['geteuid', 'getegid'] as const)('is not had with lent rights (%s)', (name) => {
  const original = process[name];
  Object.assign(process, { [name]: () => 12_345 });
  expect(footing('job', folder)).toBeNull();
  Object.assign(process, { [name]: original });
  expect(footing('job', folder)).not.toBeNull();
});

it.each<[string, () => void, boolean]>([
  ['nothing has happened', () => {}, true],
  ['a file has come into the folder', () => writeFileSync(join(work, 'new'), ''), true],
  ['the folder is gone', () => rmSync(work, { recursive: true }), false],
  ['the folder is another one', () => replaceFolder(), false],
  ['the program is gone', () => unlinkSync(join(folder, 'job')), false],
  ['the program may not be executed', () => chmodSync(join(folder, 'job'), 0o644), false],
  ['the program is another one', () => put('job', '#!/bin/sh\n'), false],
  ['the interpreter is gone', () => unlinkSync(join(folder, 'shell')), false],
  ['the interpreter is a link to somewhere else', () => relink(), false],
])('as it was: %s', (_title, act, expected) => {
  const had = footing('job', folder);
  act();
  expect(had && isUnchanged(had)).toBe(expected);
});

function replaceFolder(): void {
  renameSync(work, join(folder, 'old'));
  mkdirSync(work);
}

function relink(): void {
  renameSync(join(folder, 'shell'), join(folder, 'other'));
  put('third', '\x7fELF');
  symlinkSync(join(folder, 'third'), join(folder, 'shell'));
}
