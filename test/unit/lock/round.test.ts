// One round over masters that fail in every way: each is a vote, and the round ends in time.

import { describe, expect, it } from 'vitest';
import { MasterSet } from '../../../src/lock/round.ts';
import type { Failed } from '../../../src/lock/types.ts';
import { createPlainClock } from '../../../src/system/clock.ts';

type Vote = { readonly kind: 'released' };
type Peer = { readonly name: string };
type Ask = (master: Peer) => Promise<Vote | Failed>;

const clock = createPlainClock();
const masters = ['a', 'b', 'c'].map((name): Peer => ({ name }));
const setOf = (timeoutMs: number) => new MasterSet<Peer>(masters, clock, timeoutMs, () => {});
const yes = async (): Promise<Vote> => ({ kind: 'released' });

async function votesOf(asks: readonly Ask[], masterTimeoutMs = 50): Promise<unknown[]> {
  const { votes } = await setOf(masterTimeoutMs).ask<Vote>({
    masters,
    ask: (master) => (asks[masters.indexOf(master)] as Ask)(master),
    isCertain: () => false,
  });
  return masters.map((master) => votes.get(master));
}

describe('a bug in the asking of one master', () => {
  const told = (args: string) => ({
    kind: 'failed',
    cause: 'reply',
    message: `could not be asked: ${args}`,
  });

  it('is a failed vote of that master, whether it rejects or throws', async () => {
    const rejects = async () => {
      throw new TypeError('reply is not iterable');
    };
    const throws = () => {
      throw new Error('at once\n\u001b[31mred');
    };
    expect(await votesOf([rejects, throws, yes])).toEqual([
      told('TypeError: reply is not iterable'),
      told('Error: at once [31mred'),
      { kind: 'released' },
    ]);
  });
});

it('gives the votes in the order of the masters, whichever answered first', async () => {
  const failing = (message: string): Failed => ({ kind: 'failed', cause: 'connection', message });
  const [first] = masters;
  let answerFirst: (vote: Failed) => void = () => {};
  const late = new Promise<Failed>((resolve) => {
    answerFirst = resolve;
  });
  const { votes } = await setOf(60_000).ask<Vote>({
    masters,
    ask: (master) => (master === first ? late : Promise.resolve(failing(master.name))),
    isCertain: ({ size }) => {
      if (size === 2) answerFirst(failing('a, last'));
      return false;
    },
  });
  expect([...votes.values()]).toEqual(['a, last', 'b', 'c'].map(failing));
});

it('knows the masters that owe an answer or have failed', async () => {
  const set = setOf(20);
  const asks: Ask[] = [
    () => new Promise<never>(() => {}),
    async () => ({ kind: 'failed', cause: 'connection', message: 'refused' }),
    yes,
  ];
  await set.ask<Vote>({
    masters,
    ask: (master) => (asks[masters.indexOf(master)] as Ask)(master),
    isCertain: () => false,
  });
  expect(new Set(set.slow().map(({ name }) => name))).toEqual(new Set(['a', 'b']));
  await set.ask<Vote>({ masters: masters.slice(1), ask: yes, isCertain: () => false });
  expect(set.slow().map(({ name }) => name)).not.toContain('b');
});

describe('the deadline', () => {
  it('passes in one part after another, and a mute master has failed then', async () => {
    const mute = () => new Promise<never>(() => {});
    const startedAt = performance.now();
    expect(await votesOf([mute, yes, yes], 60)).toMatchObject([
      expect.objectContaining({ cause: 'timeout', message: 'no answer within 60 ms' }),
      { kind: 'released' },
      { kind: 'released' },
    ]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(59);
  });

  it('counts only as far as this process was awake', async () => {
    const answersAfterTurns = async (): Promise<Vote> => {
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return { kind: 'released' };
    };
    const round = votesOf([answersAfterTurns, yes, yes], 100);
    const blockedUntil = performance.now() + 400;
    while (performance.now() < blockedUntil);
    expect(await round).toEqual([{ kind: 'released' }, { kind: 'released' }, { kind: 'released' }]);
  });
});

describe('a master that fails', () => {
  const failed = (cause: Failed['cause'], message: string): Failed => ({
    kind: 'failed',
    cause,
    message,
  });
  const denied = failed('denied', 'WRONGPASS');
  const ended: Failed = { ...failed('connection', 'connection closed'), isVague: true };

  async function failuresAfter(...rounds: (Failed | Vote)[][]) {
    const set = setOf(60_000);
    for (const votes of rounds)
      await set.ask<Vote>({
        masters,
        ask: async (master) => votes[masters.indexOf(master)] as Failed | Vote,
        isCertain: () => false,
      });
    return set.failures().map(({ master, failed: { message } }) => `${master}: ${message}`);
  }
  const fine: Vote = { kind: 'released' };

  it('keeps its most telling failure', async () => {
    expect(await failuresAfter([denied, ended, fine], [ended, denied, fine])).toEqual([
      'a: WRONGPASS',
      'b: WRONGPASS',
    ]);
  });

  it('until it answers again', async () => {
    expect(await failuresAfter([denied, fine, fine], [fine, fine, ended])).toEqual([
      'c: connection closed',
    ]);
  });
});
