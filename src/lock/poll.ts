// One round over all masters: all are asked at once, and the round ends as soon as its verdict is
// certain or the deadline has passed. It knows nothing of locks. Votes go on arriving after the
// round has ended, and `onVote` is told of them; a master whose deadline passed is told of twice if
// it answers after all.

import type { Clock, Failed, Master } from './ports.ts';

export interface Round<Vote> {
  readonly masters: readonly Master[];
  readonly clock: Clock;
  /** How long each master may take to answer. */
  readonly masterTimeoutMs: number;
  readonly ask: (master: Master, withdrawn: AbortSignal) => Promise<Vote | Failed>;
  /** Called with every answer, late or not, before it counts. */
  readonly onAnswer?: (master: Master, vote: Vote | Failed) => void;
  /** Called after each vote; true ends the round. */
  readonly isCertain: (votes: ReadonlyMap<Master, Vote | Failed>) => boolean;
  /** Every vote and every late answer, also after the round has ended. */
  readonly onVote?: (master: Master, vote: Vote | Failed) => void;
  /** Ends the round from outside, with the votes so far: what is unsent by then is never sent. */
  readonly cancelled?: AbortSignal | undefined;
}

export interface Polled<Vote> {
  /** In the order of the masters, not of arrival. */
  readonly votes: ReadonlyMap<Master, Vote | Failed>;
  /** No request of this round that is still unsent will ever be sent. */
  readonly withdraw: () => void;
}

/** In so many parts the deadline passes: see `sleepAwake`. */
const partCount = 10;

/**
 * Resolves with the votes at the moment of certainty, or with one vote a master. An `ask` that
 * rejects is a failed vote.
 */
export function poll<Vote>(round: Round<Vote>): Promise<Polled<Vote>> {
  const { masters, clock, masterTimeoutMs, isCertain, onAnswer, onVote } = round;
  const votes = new Map<Master, Vote | Failed>();
  const withdrawn = new AbortController();
  /** Every master has voted, or its time is over. */
  const isOver = new AbortController();
  let hasEnded = false;
  return new Promise((resolve) => {
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      round.cancelled?.removeEventListener('abort', cancel);
      resolve({ votes: inOrderOf(masters, votes), withdraw: () => withdrawn.abort() });
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
      void asked(() => round.ask(master, withdrawn.signal)).then((vote) => receive(master, vote));
    }
    void sleepAwake(clock, masterTimeoutMs, isOver.signal).then(() => {
      if (votes.size === masters.length) return;
      withdrawn.abort();
      const mute = masters.filter((master) => !votes.has(master));
      // All of them first: a round that ends here must know of every master.
      for (const master of mute) votes.set(master, noAnswer(masterTimeoutMs));
      for (const master of mute) onVote?.(master, noAnswer(masterTimeoutMs));
      isOver.abort();
      end();
    });
  });
}

function inOrderOf<Vote>(masters: readonly Master[], votes: ReadonlyMap<Master, Vote>) {
  const ordered = new Map<Master, Vote>();
  for (const master of masters) {
    const vote = votes.get(master);
    if (vote !== undefined) ordered.set(master, vote);
  }
  return ordered;
}

/**
 * A bug in the asking of one master is a vote that was not given, as told by that master's failure;
 * the others decide.
 */
async function asked<Vote>(ask: () => Promise<Vote | Failed>): Promise<Vote | Failed> {
  try {
    return await ask();
  } catch (error) {
    return { kind: 'failed', cause: 'reply', message: `could not be asked: ${wordsOf(error)}` };
  }
}

/** One line. */
function wordsOf(error: unknown): string {
  return String(error)
    .slice(0, 200)
    .replace(/\p{Cc}+/gu, ' ');
}

/**
 * Sleeps so long, in parts, as far as this process is awake: a part that takes longer than it
 * should, because the machine is too busy to let us run, counts as one part all the same. Between
 * two parts everything that has arrived is read, so that no master counts as mute whose answer lies
 * here unread; the last part, a moment, is there for that alone.
 */
async function sleepAwake(clock: Clock, durationMs: number, cancelled: AbortSignal): Promise<void> {
  for (let part = 0; part < partCount && !cancelled.aborted; part += 1) {
    await clock.sleep(durationMs / partCount, cancelled);
  }
  await clock.sleep(1, cancelled);
}

function noAnswer(masterTimeoutMs: number): Failed {
  return { kind: 'failed', cause: 'timeout', message: `no answer within ${masterTimeoutMs} ms` };
}
