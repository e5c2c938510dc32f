// What users are called, by their numbers.

import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { callerId, userName, userOf } from '../../../src/system/caller.ts';

/** No system gives it to a user. */
const unknownId = 4_294_967_290;

const id = (...words: string[]) => spawnSync('id', words, { encoding: 'utf8' });

it('names another user, and tells one without a name by number', () => {
  expect(userOf(0)).toBe(`${id('-un', '0').stdout.trim()} (uid 0)`);
  expect(userOf(unknownId)).toBe(`uid ${unknownId}`);
});

it('knows the caller as id(1) does, which has no name for some', () => {
  const number = id('-u').stdout.trim();
  const { status, stdout } = id('-un');
  expect(callerId()).toBe(Number(number));
  expect(userName()).toBe(status === 0 ? stdout.trim() : `uid ${number}`);
});
