// Which of two failures of one master is told.

import { expect, test } from 'vitest';
import { moreTelling } from '../../../src/lock/round.ts';
import type { Failed, FailureCause } from '../../../src/lock/types.ts';

const failure = (cause: FailureCause, message: string = cause): Failed => ({
  kind: 'failed',
  cause,
  message,
});
const ended: Failed = { ...failure('connection', 'connection closed'), isVague: true };

const inOrder: readonly Failed[] = [
  failure('timeout'),
  ended,
  failure('connection'),
  failure('restarted'),
  failure('reply'),
  failure('misconfigured'),
  failure('denied'),
];

test('the order: login and TLS, kind of server, its own error, refused, no answer', () => {
  for (const [index, less] of inOrder.entries())
    for (const more of inOrder.slice(index + 1)) {
      expect(moreTelling(less, more)).toBe(more);
      expect(moreTelling(more, less)).toBe(more);
    }
});

test('of two of one kind the later', () => {
  const later = failure('reply', 'later');
  expect(moreTelling(failure('reply', 'earlier'), later)).toBe(later);
});
