// The variables of hooks, and the page that lists them.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { hookVariables } from '../../../src/run/hooks.ts';
import { factsOf } from '../../../src/run/outcome.ts';
import { type Ending, notStarted } from '../../../src/run/record.ts';

const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
const by = { user: 'ops', host: 'web1', pid: 4711, note: 'two\nlines' };
const others = { isKilled: false, unkillable: [] };

const variablesOf = (ending: Ending) =>
  hookVariables('released', '', factsOf({ ...notStarted, ...ending, waitMs: 3.4, runMs: 7.6 }, 75));

it('are those of docs/operations.md', () => {
  const [, table = ''] = /<!-- hook-variables -->([\s\S]*?)<!--/.exec(page) ?? [];
  const names = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
  expect(names).toEqual(Object.keys(hookVariables('waiting', '', {})));
});

it.each<[string, Ending, object]>([
  [
    'a lock that an operator broke',
    { cause: { kind: 'lost', reason: 'expired', by }, childExit: null, ...others },
    {
      REDLOCK_OUTCOME: 'lost',
      REDLOCK_STATUS: '79',
      REDLOCK_LOST: 'broken',
      REDLOCK_BY: 'ops@web1 (pid 4711): "two\\nlines"',
    },
  ],
  [
    'a lock that was lost by itself',
    { cause: { kind: 'lost', reason: 'unreachable' }, childExit: null, ...others },
    { REDLOCK_OUTCOME: 'lost', REDLOCK_LOST: 'unreachable', REDLOCK_BY: '' },
  ],
  [
    'a run that an operator stopped',
    {
      cause: { kind: 'stopped', by },
      childExit: { kind: 'signaled', signal: 'SIGTERM' },
      ...others,
    },
    {
      REDLOCK_OUTCOME: 'stopped',
      REDLOCK_SIGNAL: 'SIGTERM',
      REDLOCK_LOST: '',
      REDLOCK_WAIT_MS: '3',
    },
  ],
])('name %s', (_title, ending, expected) => {
  expect(variablesOf(ending)).toMatchObject(expected);
});
