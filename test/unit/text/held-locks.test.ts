// Whether an enclosing run holds the lock, by the environment.

import { expect, test } from 'vitest';
import { alone } from '../../../src/lock/types.ts';
import { parseValue } from '../../../src/lock/value.ts';
import { enclosingLeaseOf, heldAroundOf, heldVariables } from '../../../src/text/held-locks.ts';

const around = { REDLOCK_HELD: 'outer,a%2Cb', REDLOCK_HELD_LEASES: 'T1:7:30000,T2::30000' };
const record = JSON.stringify({ host: 'h', pid: 1, user: 'u', since: 's', label: 'l' });

test.each<[string, NodeJS.ProcessEnv, string[], string, boolean, boolean]>([
  ['the run around us', around, ['outer'], `T1 ${record}`, true, true],
  ['the run around us, by a name with a comma', around, ['a,b'], `T2 ${record}`, true, true],
  [
    'the run around us, by one of several names',
    around,
    ['x', 'outer'],
    `T1 ${record}`,
    true,
    true,
  ],
  ['another holder: the list is stale', around, ['outer'], `T9 ${record}`, true, false],
  ['another holder of another name of ours', around, ['outer'], `T2 ${record}`, true, false],
  ['a holder that is no redlock-run', around, ['outer'], 'foreign', true, false],
  ['no name of ours', around, ['other'], `T1 ${record}`, true, false],
  ['nothing around us', {}, ['outer'], `T1 ${record}`, true, false],
  ['one of several holders', around, ['outer'], `T9 ${record}`, false, true],
  ['a list without tokens', { REDLOCK_HELD: 'outer' }, ['outer'], `T9 ${record}`, true, true],
])('%s', (_, environment, names, holder, isAlone, expected) => {
  const isHeldAround = heldAroundOf(environment, names, () => false);
  expect(isHeldAround({ ...parseValue(holder), isAlone })).toBe(expected);
});

test.each([
  ['a hold of this script, with nothing in the environment', `T9 ${record}`, true],
  ['a holder without a record', 'foreign', false],
])('%s', (_, holder, expected) => {
  const isHeldAround = heldAroundOf({}, ['outer'], ({ pid }) => pid === 1);
  expect(isHeldAround({ ...parseValue(holder), isAlone: true })).toBe(expected);
});

test.each([
  ['exclusive, without a fence', alone.sharing, null],
  ['on a slot', { kind: 'slots', slot: 2, slotCount: 3 }, 7],
] as const)('a lock %s is described for nested runs', (_, sharing, fence) => {
  const claim = {
    ...alone,
    resources: ['a,b', 'c'],
    sharing,
    token: 'T3',
    value: '',
    ttlMs: 9_000,
  };
  const lease = { claim: { ...claim, isFenced: true, waiter: null }, startedAt: 0, validUntil: 0 };
  const variables = heldVariables(around, { ...lease, fence }, '12.345', (holder) => holder);
  const described = { token: 'T3', fence, ttlMs: 9_000, sharing, holder: '12.345' };
  expect(enclosingLeaseOf(variables, ['c'])).toEqual({ names: ['c'], ...described });
  expect(enclosingLeaseOf(variables, ['a,b', 'c'])).toMatchObject(described);
  expect(enclosingLeaseOf(variables, ['outer', 'c'])).toBeNull();
  expect(enclosingLeaseOf(variables, ['outer'])).toMatchObject({ token: 'T1', holder: '' });
});
