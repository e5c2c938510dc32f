// A run inside of another one waits, unless the lock is held by a run around it.

import { expect, test } from 'vitest';
import { type Attempts, waitUnlessNested } from '../../../src/lock/nested-wait.ts';
import type { Acquisition } from '../../../src/lock/wait.ts';
import { heldAroundOf } from '../../../src/text/held-locks.ts';

const record = JSON.stringify({ host: 'h', pid: 1, user: 'u', since: 's', label: 'l' });
const busyBy = (token: string) =>
  ({ kind: 'busy', holder: `${token} ${record}`, holderCount: 1, freeInMs: 1 }) as Acquisition;
const free = { kind: 'acquired' } as Acquisition;
const unreachable: Acquisition = { kind: 'unreachable', failures: [], gaveUpAfterMs: null };
const inside = { REDLOCK_HELD: 'a', REDLOCK_HELD_LEASES: 'T1:7:30000' };
const waiting = { waitMs: 5_000, retries: null };
const once = { waitMs: 0, retries: null };
const counted = { waitMs: 5_000, retries: { count: 3, delayMs: 1, jitterMs: 0 } };

test.each<[string, NodeJS.ProcessEnv, Attempts, Acquisition[], string, Attempts[]]>([
  ['no run around it: it waits', {}, waiting, [free], 'acquired', [waiting]],
  ['another name is held around it', { REDLOCK_HELD: 'b' }, waiting, [free], 'acquired', [waiting]],
  ['held around it', inside, waiting, [busyBy('T1')], 'nested', [once]],
  ['held around it, with retries', inside, counted, [busyBy('T1')], 'nested', [once]],
  ['free: it is taken at once', inside, waiting, [free], 'acquired', [once]],
  ['no quorum', inside, waiting, [unreachable], 'unreachable', [once]],
  ['another holder', inside, waiting, [busyBy('T2'), free], 'acquired', [once, waiting]],
  ['another holder, and no wait', inside, once, [busyBy('T2')], 'busy', [once]],
])('%s', async (_, environment, limits, answers, expected, asked) => {
  const seen: Attempts[] = [];
  const wait = async (attempts: Attempts) => {
    seen.push(attempts);
    return answers[seen.length - 1] as Acquisition;
  };
  const { kind } = await waitUnlessNested(heldAroundOf(environment, ['a']), wait, limits);
  expect([kind, seen]).toEqual([expected, asked]);
});
