// What node:fs throws about the folder of the local masters is told as an error of this folder.

import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LocalError, onDisk } from '../../../src/local/error.ts';

test('an error of the file system has a line and an exit code, and others pass', () => {
  const inDevice = () => onDisk('/dev/null', () => mkdirSync('/dev/null/turn.1'));
  expect(inDevice).toThrow(LocalError);
  expect(inDevice).toThrow(expect.objectContaining({ exitCode: 78 }));
  expect(inDevice).toThrow('local masters: /dev/null: cannot be used: ENOTDIR (');
  const bug = new TypeError('bug');
  const fails = () => {
    throw bug;
  };
  expect(() => onDisk('/dev/null', fails)).toThrow(bug);
});
