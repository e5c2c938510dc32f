// A daemon of redlockctl hold never starts another daemon: whatever its variable says, it has a
// role or an error, and only a user's call has neither.

import { expect, test } from 'vitest';
import { holderRoleName } from '../../../../src/ctl/call.ts';
import { holderRole } from '../../../../src/ctl/steps/background.ts';
import { ConfigError } from '../../../../src/text/errors.ts';

test.each(['', '7', '7:', '7:NaN', 'NaN:7', '7:8:9', ' 7:8', '-7:8'])(
  '%j is refused, and not taken for a call by a user',
  (role) => {
    expect(() => holderRole({ [holderRoleName]: role })).toThrow(ConfigError);
  },
);

test('without the variable it was called by a user', () => {
  expect(holderRole({})).toBeNull();
});
