// What refused attempts come to, for votes that are hard to bring about on servers; the contract suite and the simulator have the others.

import { describe, expect, it } from 'vitest';
import { contentionOf } from '../../../src/lock/contention.ts';
import type { AcquireReply } from '../../../src/lock/ports.ts';

const refused = (supersededBy?: string): AcquireReply => ({
  kind: 'refused',
  holder: '',
  remainingMs: 0,
  place: null,
  masterTimeUs: 1,
  ...(supersededBy ? { supersededBy } : {}),
});
const newerIn = (...names: (string | undefined)[]) => contentionOf(names.map(refused), 3).supersededBy;

describe('a newer waiter', () => {
  it('is believed when a quorum of masters tells of one, if not of the same', () => {
    expect(newerIn('b', 'b', 'c')).toBe('b');
    expect(['b', 'c']).toContain(newerIn('b', 'c', undefined));
  });

  it('is not believed on the word of a minority', () => {
    expect(newerIn('b', undefined, undefined)).toBeNull();
  });
});
