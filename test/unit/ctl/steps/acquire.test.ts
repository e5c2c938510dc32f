// How a step of redlockctl that got no lock ends: each kind has its exit code and its line.

import { expect, test } from 'vitest';
import { refuse } from '../../../../src/ctl/steps/acquire.ts';
import type { NotAcquired } from '../../../../src/lock/wait.ts';

const failures = [{ master: 'redis://a', failed: { cause: 'timeout', message: 'no answer' } }];

test.each([
  [{ kind: 'busy', holder: 'x', freeInMs: 1_000, holderCount: 1 }, 75, /^busy: "a": held by/],
  [{ kind: 'nested', holder: 'T' }, 75, /^busy: "a": .*choose another name/],
  [{ kind: 'superseded', by: 'supersede:x:7@web2/ops/job' }, 75, /^busy: "a": superseded by/],
  [{ kind: 'aborted' }, 75, null],
  [{ kind: 'misconfigured', failures }, 78, /^masters: redis:\/\/a: no answer$/],
  [{ kind: 'unreachable', failures, gaveUpAfterMs: null }, 69, /^no quorum: "a": redis:\/\/a/],
  [{ kind: 'too-slow', elapsedMs: 2_000 }, 69, /^no quorum: "a": .*took 2s.*\(raise --ttl\)$/],
])('%j exits with %i', (acquisition, code, line) => {
  const told: string[] = [];
  const call = {
    args: { name: 'a' },
    settings: { conflictExitCode: 75, waitMs: 0 },
    tell: (text: string) => void told.push(text),
  } as Parameters<typeof refuse>[0];
  expect(refuse(call, acquisition as unknown as NotAcquired)).toBe(code);
  expect(told).toEqual(line === null ? [] : [expect.stringMatching(line)]);
});
