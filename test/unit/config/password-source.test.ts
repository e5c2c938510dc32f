// Passwords of a command that cannot be started.

import { expect, test } from 'vitest';
import { PasswordCommand } from '../../../src/config/login/password-source.ts';

test('a command that spawn throws for fails like any other, and is tried again', async () => {
  // Longer than an argument may be (execve(2), E2BIG): spawn throws, as it does without memory.
  const source = new PasswordCommand(`: ${'x'.repeat(4_000_000)}`, 'passwordCommand', null);
  const failure = {
    kind: 'failed',
    cause: 'denied',
    message: 'passwordCommand: cannot be started (see /bin/sh)',
  };
  expect(await source.password()).toMatchObject(failure);
  expect(await source.password()).toMatchObject(failure);
});
