// One round over all masters: all are asked at once, and the round ends as soon as its verdict is certain or the
// deadline has passed. It knows nothing of locks. The surprise: votes go on arriving after the round has ended, and
// `onVote` is told of them; a master whose deadline passed is told of twice if it answers after all.

import { Ending } from './ending.ts';
import type { Cancelled, Clock, Failed, Master, Withdrawn } from './ports.ts';

export interface Round<Vote> {
  readonly masters: readonly Master[];
  readonly clock: Clock;
  /** How long each master may take to answer. */
  readonly masterTimeoutMs: number;
  readonly ask: (master: Master, withdrawn: Withdrawn) => Promise<Vote | Failed>;
  /** Called with every answer, late or not, before it counts. */
  readonly onAnswer?: (master: Master, vote: Vote | Failed) => void;
  /** Called after each vote; true ends the round. */
  readonly isCertain: (votes: ReadonlyMap<Master, Vote | Failed>) => boolean;
  /** Every vote and every late answer, also after the round has ended. */
  readonly onVote?: (master: Master, vote: Vote | Failed) => void;
  /** Ends the round from outside, with the votes so far: what is unsent by then is never sent. */
  readonly cancelled?: Cancelled | undefined;
}

export interface Polled<Vote> {
  readonly votes: ReadonlyMap<Master, Vote | Failed>;
  /** No request of this round that is still unsent will ever be sent. */
  readonly withdraw: () => void;
}

/** Resolves with the votes at the moment of certainty, or with one vote a master. Rejects only if `ask` does (a bug). */
export function poll<Vote>(round: Round<Vote>): Promise<Polled<Vote>> {
  const { masters, clock, masterTimeoutMs, isCertain, onAnswer, onVote } = round;
  const votes = new Map<Master, Vote | Failed>();
  const withdrawn = new Ending();
  /** Every master has voted, or its time is over. */
  const isOver = new Ending();
  let hasEnded = false;
  return new Promise((resolve, reject) => {
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      round.cancelled?.removeEventListener('abort', cancel);
      resolve({ votes: new Map(votes), withdraw: () => withdrawn.abort() });
    };
    const cancel = () => {
      withdrawn.abort();
      end();
    };
    round.cancelled?.addEventListener('abort', cancel, { once: true });
    const receive = (master: Master, vote: Vote | Failed) => {
      onAnswer?.(master, vote);
      onVote?.(master, vote);
      if (votes.has(master)) return;
      votes.set(master, vote);
      if (votes.size === masters.length) isOver.abort();
      if (!hasEnded && (votes.size === masters.length || isCertain(votes))) end();
    };
    for (const master of masters) {
      round.ask(master, withdrawn).then((vote) => receive(master, vote), reject);
    }
    clock.sleep(masterTimeoutMs, isOver).then(() => {
      if (votes.size === masters.length) return;
      withdrawn.abort();
      const mute = masters.filter((master) => !votes.has(master));
      // All of them first: a round that ends here must know of every master.
      for (const master of mute) votes.set(master, noAnswer(masterTimeoutMs));
      for (const master of mute) onVote?.(master, noAnswer(masterTimeoutMs));
      isOver.abort();
      end();
    }, reject);
  });
}

function noAnswer(masterTimeoutMs: number): Failed {
  return { kind: 'failed', cause: 'timeout', message: `no answer within ${masterTimeoutMs} ms` };
}
