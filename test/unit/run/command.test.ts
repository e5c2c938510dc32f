// Whether a command can be executed, as execvp(3) finds it: the first executable file of that name
// on the path.

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { whyCannotStart } from '../../../src/run/preconditions.ts';

const notFound = { kind: 'not-found' };
const because = (message: string) => ({ kind: 'not-executable', message });
const isRoot = process.getuid?.() === 0;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(realpathSync(tmpdir()), 'command-'));
  for (const name of ['one', 'two', 'two/folder']) mkdirSync(join(folder, name));
  const write = (name: string, mode: number, text = '#!/bin/sh\n') => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  };
  write('one/plain', 0o644);
  write('two/plain', 0o644);
  write('one/both', 0o644);
  write('two/both', 0o755);
  write('two/tool', 0o755);
  write('two/crlf', 0o755, '#!/bin/sh\r\necho\r\n');
  write('two/missing', 0o755, '#! /no/such -x\n');
  write('one/shadow', 0o755, '#!/no/such\n');
  write('two/shadow', 0o755);
  write('two/short', 0o755, '#!/bin/sh');
  write('two/text', 0o755, 'echo\n');
  write('two/closed', 0o755, `#!${folder}/one/plain\n`);
  write('two/nested', 0o755, `#!${folder}/two/missing\n`);
  write('two/circle', 0o755, `#!${folder}/two/circle\n`);
  write('two/long', 0o755, `#!/${'x'.repeat(300)}\n`);
  symlinkSync('tool', join(folder, 'two/link'));
  symlinkSync('nowhere', join(folder, 'two/dangling'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const look = (file: string, path = `${folder}/one:${folder}/two`) =>
  whyCannotStart(file.replace('FOLDER', folder), path);

test.each([
  ['tool', null],
  ['link', null],
  ['both', null],
  ['FOLDER/two/tool', null],
  ['nothing', notFound],
  ['', notFound],
  ['dangling', notFound],
  ['FOLDER/two/nothing', notFound],
  ['FOLDER/two/tool/more', notFound],
  ['crlf', { ...notFound, interpreter: '/bin/sh\r' }],
  ['missing', { ...notFound, interpreter: '/no/such' }],
  ['nested', { ...notFound, interpreter: '/no/such' }],
  ['shadow', null],
  ['short', null],
  ['text', null],
  ['circle', null],
  ['long', null],
  ['plain', because('permission denied')],
  ['FOLDER/one/plain', because('permission denied')],
  ['folder', because('is a directory')],
  ['FOLDER/two', because('is a directory')],
  ['FOLDER/two/', because('is a directory')],
])('%j', (file, expected) => {
  expect(look(file)).toEqual(expected);
});

test('an interpreter that cannot be executed', () => {
  const why = `its interpreter "${folder}/one/plain": permission denied`;
  expect(look('closed')).toEqual(because(why));
});

test('a path is not looked up; a name only on PATH, not in the working folder', () => {
  expect(look('two/tool', folder)).toEqual(notFound);
  expect(look('tool', '/nowhere')).toEqual(notFound);
  const before = process.cwd();
  try {
    process.chdir(join(folder, 'two'));
    expect(look('tool', '/nowhere')).toEqual(notFound);
    expect(look('tool', '/nowhere:')).toBeNull();
    expect(look('./tool', '/nowhere')).toBeNull();
  } finally {
    process.chdir(before);
  }
});

test('without a PATH, the usual places are looked at', () => {
  expect(whyCannotStart('sh', undefined)).toBeNull();
});

test.skipIf(isRoot)('a folder that may not be entered', () => {
  chmodSync(join(folder, 'two'), 0o000);
  expect(look('FOLDER/two/tool')).toEqual(because('permission denied'));
  expect(look('tool')).toEqual(notFound);
  chmodSync(join(folder, 'two'), 0o755);
});
