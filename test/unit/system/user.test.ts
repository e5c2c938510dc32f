// What users are called, by their numbers.

import os from 'node:os';
import { expect, it } from 'vitest';
import { callerId, userName, userOf } from '../../../src/system/caller.ts';

/** No system gives it to a user. */
const unknownId = 4_294_967_290;

it('names root, and tells a user without a name by number', () => {
  expect(userOf(0)).toBe('root (uid 0)');
  expect(userOf(unknownId)).toBe(`uid ${unknownId}`);
});

it('knows the caller', () => {
  const { uid, username } = os.userInfo();
  expect(callerId()).toBe(uid);
  expect(userName()).toBe(username);
});
