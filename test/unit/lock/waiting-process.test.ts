// The process that a waiter's id tells of.

import { expect, test } from 'vitest';
import { alone } from '../../../src/lock/types.ts';
import { waiterIdOf, waitingProcess, whoOf } from '../../../src/lock/waiter-id.ts';

const named = { host: 'web1', pid: 4711, user: 'ops', label: 'deploy.sh' };
const process = { ...named, note: null };
const idOf = (who: string) => waiterIdOf(alone, 'random', who);

test('the id tells host, pid, user and command', () => {
  expect(waitingProcess(idOf(whoOf(named)))).toEqual(process);
});

test.each([
  [':random:4711@web1', { pid: 4711, host: 'web1', user: null, label: null, note: null }],
  [idOf(whoOf({ ...named, label: 'a/b:c' })), { ...process, label: 'a-b:c' }],
  [idOf(whoOf({ ...named, label: '' })), { ...process, label: '' }],
  [idOf(whoOf({ ...named, note: 'a/b: c' })), { ...process, note: 'a/b: c' }],
])('%s', (id, told) => {
  expect(waitingProcess(id)).toEqual(told);
});

test.each(['', 'x', 'newest:random:who', ':random:x@y', ':random:99999999999@web1'])(
  '%j tells nothing',
  (id) => {
    expect(waitingProcess(id)).toBeNull();
  },
);

test('an id is at most 200 characters, whatever the process is called', () => {
  const long = 'x'.repeat(500);
  const wish = { sharing: { kind: 'shared' }, preemptible: 'replace' } as const;
  const who = whoOf({ pid: 4_194_304, host: long, user: long, label: long });
  expect(waiterIdOf(wish, 'f'.repeat(24), who).length).toBeLessThanOrEqual(200);
});
