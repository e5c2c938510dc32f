// One request to every master at once: askAll, for all programs, and a MasterSet that remembers
// which masters are slow. A round ends as soon as the outcome is certain, or when each master has
// answered or run out of time. Later answers are still passed on, because what a straggler grants
// has to be used or rolled back.

import { sleepAwake } from './awake.ts';
import { moreTelling } from './failures.ts';
import { MasterTimes } from './master-times.ts';
import type { Clock, Report } from './ports.ts';
import type { Extended, Failed, MasterFailure } from './types.ts';

/** What is asked: a master, or anything else with a name. */
interface Named {
  readonly name: string;
}

/** withdrawn: the request was never sent, which says nothing of the master. */
type VoteOrigin = 'answer' | 'timeout' | 'withdrawn';

export interface RoundRequest<Peer, Vote> {
  /** All of the set, or some. */
  readonly masters: readonly Peer[];
  /** What is unsent when `withdrawn` aborts must never be sent. */
  readonly ask: (master: Peer, withdrawn: AbortSignal) => Promise<Vote | Failed>;
  /** Called after each vote; true ends the round. */
  readonly isCertain: (votes: ReadonlyMap<Peer, Vote | Failed>) => boolean;
  /**
   * Called with every vote, also after the round has ended. A master that answers after its time is
   * over has two votes: the failure, and then its answer.
   */
  readonly onVote?: (master: Peer, vote: Vote | Failed, how: VoteOrigin) => void;
  /** Ends the round from outside, with the votes so far. */
  readonly cancelled?: AbortSignal | undefined;
}

export interface Round<Peer, Vote> {
  /** In the order of the masters, not of arrival. */
  readonly votes: ReadonlyMap<Peer, Vote | Failed>;
  /** No request of this round that is still unsent will ever be sent. */
  readonly withdraw: () => void;
}

/** The reason of signals whose reason nothing reads: without one, Node makes a whole error. */
const over = 'over';

/**
 * The masters, with the knowledge of which owe answers and which fail. Reports a master once when
 * it begins to fail, and once when it recovers.
 */
export class MasterSet<Peer extends Named> {
  readonly masters: readonly Peer[];
  readonly #clock: Clock;
  readonly #masterTimeoutMs: number;
  readonly #report: Report;
  readonly #stragglers = new Set<Peer>();
  /** The masters that fail, each with its most telling failure since it began to. */
  readonly #failing = new Map<Peer, Failed>();
  readonly #times = new MasterTimes();

  constructor(masters: readonly Peer[], clock: Clock, masterTimeoutMs: number, report: Report) {
    this.masters = masters;
    this.#clock = clock;
    this.#masterTimeoutMs = masterTimeoutMs;
    this.#report = report;
  }

  /** The masters without which the last round ended, and that have answered nothing since. */
  stragglers(): readonly Peer[] {
    return [...this.#stragglers];
  }

  /** Those, and the masters that fail at present: an answer of theirs may take long. */
  slow(): readonly Peer[] {
    return [...this.#stragglers, ...this.#failing.keys()];
  }

  /** The masters that fail at present, in their order, each with its most telling failure. */
  failures(): MasterFailure[] {
    return failuresIn(inOrderOf(this.masters, this.#failing));
  }

  /** As askAll; remembers what the votes show of the masters. */
  async ask<Vote>(request: RoundRequest<Peer, Vote>): Promise<Round<Peer, Vote>> {
    const owing = new Set(request.masters);
    const askedAt = this.#clock.now();
    const onVote: typeof request.onVote = (master, vote, how) => {
      if (how !== 'timeout') {
        owing.delete(master);
        this.#stragglers.delete(master);
      }
      if (isExtended(vote)) this.#compareTimes(master, vote, askedAt);
      if (how !== 'withdrawn') this.#noteFailure(master, vote);
      request.onVote?.(master, vote, how);
    };
    const timeoutMs = this.#masterTimeoutMs;
    const round = await askAll({ ...request, onVote }, this.#clock, timeoutMs, noAnswer(timeoutMs));
    // A round that was cut short says nothing of the masters that had no time to answer.
    if (request.cancelled?.aborted) return round;
    for (const master of owing) this.#stragglers.add(master);
    return round;
  }

  #noteFailure(master: Peer, vote: unknown): void {
    if (isFailed(vote)) {
      const known = this.#failing.get(master);
      this.#failing.set(master, known ? moreTelling(known, vote) : vote);
      if (!known) this.#report({ kind: 'master-failing', master: master.name, failed: vote });
    } else if (this.#failing.delete(master)) {
      this.#report({ kind: 'master-recovered', master: master.name });
    }
  }

  #compareTimes(master: Peer, { masterTimeMs }: Extended, askedAt: number): void {
    const aheadMs = this.#times.jumpOf(master, masterTimeMs, askedAt, this.#clock.now());
    if (aheadMs !== 0) this.#report({ kind: 'master-jumped', master: master.name, aheadMs });
  }
}

/**
 * Resolves with the votes as soon as `isCertain`, or with one vote of every master: `late` for one
 * that has not answered in time. An `ask` that rejects is a failed vote.
 */
export function askAll<Peer, Vote>(
  { masters, ask, isCertain, onVote, cancelled }: RoundRequest<Peer, Vote>,
  clock: Clock,
  timeoutMs: number,
  late: Failed,
): Promise<Round<Peer, Vote>> {
  const votes = new Map<Peer, Vote | Failed>();
  const withdrawn = new AbortController();
  /** Aborts when every master has voted, or its time is over. */
  const isOver = new AbortController();
  let hasEnded = false;
  return new Promise((resolve) => {
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      cancelled?.removeEventListener('abort', cancel);
      resolve({ votes: inOrderOf(masters, votes), withdraw: () => withdrawn.abort(over) });
    };
    const cancel = () => {
      withdrawn.abort(over);
      end();
    };
    cancelled?.addEventListener('abort', cancel, { once: true });
    const receive = (master: Peer, vote: Vote | Failed) => {
      const isUnsent = withdrawn.signal.aborted && isFailed(vote) && vote.isVague === true;
      onVote?.(master, vote, isUnsent ? 'withdrawn' : 'answer');
      if (votes.has(master)) return;
      votes.set(master, vote);
      if (votes.size === masters.length) isOver.abort(over);
      if (!hasEnded && (votes.size === masters.length || isCertain(votes))) end();
    };
    for (const master of masters) {
      const vote = asked(() => ask(master, withdrawn.signal));
      void vote.then((given) => receive(master, given));
    }
    void sleepAwake(clock, timeoutMs, isOver.signal).then(() => {
      if (votes.size === masters.length) return;
      withdrawn.abort(over);
      const unanswered = masters.filter((master) => !votes.has(master));
      // First all votes, then the callbacks: a round that ends here must have every vote.
      for (const master of unanswered) votes.set(master, late);
      for (const master of unanswered) onVote?.(master, late, 'timeout');
      isOver.abort(over);
      end();
    });
  });
}

export function countOf(votes: ReadonlyMap<Named, unknown>, kind: string): number {
  return [...votes.values()].filter((vote) => kindOf(vote) === kind).length;
}

export function failuresIn(votes: ReadonlyMap<Named, unknown>): MasterFailure[] {
  const failures: MasterFailure[] = [];
  for (const [{ name }, vote] of votes) {
    if (isFailed(vote)) failures.push({ master: name, failed: vote });
  }
  return failures;
}

function kindOf(vote: unknown): unknown {
  return typeof vote === 'object' && vote !== null && 'kind' in vote ? vote.kind : null;
}

function isExtended(vote: unknown): vote is Extended {
  return kindOf(vote) === 'extended';
}

function isFailed(vote: unknown): vote is Failed {
  return kindOf(vote) === 'failed';
}

function inOrderOf<Peer, Vote>(masters: readonly Peer[], votes: ReadonlyMap<Peer, Vote>) {
  const ordered = new Map<Peer, Vote>();
  for (const master of masters) {
    const vote = votes.get(master);
    if (vote !== undefined) ordered.set(master, vote);
  }
  return ordered;
}

/** A bug in the request to one master is a failure of that master; the others decide. */
async function asked<Vote>(ask: () => Promise<Vote | Failed>): Promise<Vote | Failed> {
  try {
    return await ask();
  } catch (error) {
    const line = String(error)
      .slice(0, 200)
      .replace(/\p{Cc}+/gu, ' ');
    return { kind: 'failed', cause: 'reply', message: `could not be asked: ${line}` };
  }
}

function noAnswer(masterTimeoutMs: number): Failed {
  return {
    kind: 'failed',
    cause: 'timeout',
    message: `no answer within ${masterTimeoutMs} ms`,
    advice: 'see that it runs, is not overloaded, and is not cut off',
  };
}
