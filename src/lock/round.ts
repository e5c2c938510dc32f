// One request to every master at once: askAll, for all programs, and a MasterSet that remembers
// which masters are slow. A round ends as soon as the outcome is certain, or when each master has
// answered or run out of time. Later answers are still passed on, because what a straggler grants
// has to be used or rolled back.

import { type Clock, type Report, sleepAwake } from './ports.ts';
import { defaultDriftFactor, driftMsOf } from './quorum.ts';
import type { Extended, Failed, FailureCause, MasterFailure, Reply } from './types.ts';

/** What is asked: a master, or anything else with a name. */
interface Named {
  readonly name: string;
}

/** withdrawn: the request was never sent, which says nothing of the master. */
type VoteOrigin = 'answer' | 'timeout' | 'withdrawn';

export type Votes<Peer, Vote> = ReadonlyMap<Peer, Vote | Failed>;

export interface RoundRequest<Peer, Vote> {
  /** All of the set, or some. */
  readonly masters: readonly Peer[];
  /** What is unsent when `withdrawn` aborts must never be sent. */
  readonly ask: (master: Peer, withdrawn: AbortSignal) => Promise<Vote | Failed>;
  /** Called after each vote; true ends the round. */
  readonly isCertain: (votes: Votes<Peer, Vote>) => boolean;
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
  readonly votes: Votes<Peer, Vote>;
  /** No request of this round that is still unsent will ever be sent. */
  readonly withdraw: () => void;
}

/** The reason of signals whose reason nothing reads: without one, Node makes a whole error. */
const over = 'over';

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

/** By how much a master's clock was ahead of ours when it answered: at least and at most. */
interface Lead {
  readonly minMs: number;
  readonly maxMs: number;
  readonly at: number;
}

/**
 * The masters, and what is known of each: whether it owes an answer or fails, and how its clock
 * runs. Reports a master once when it begins to fail, and once when it recovers.
 */
export class MasterSet<Peer extends Named> {
  readonly masters: readonly Peer[];
  readonly #clock: Clock;
  readonly #masterTimeoutMs: number;
  readonly #report: Report;
  /** The masters without which the last round ended, and that have answered nothing since. */
  readonly #stragglers = new Set<Peer>();
  /** The masters that fail, each with its most telling failure since it began to. */
  readonly #failing = new Map<Peer, Failed>();
  readonly #leads = new Map<Peer, Lead>();

  constructor(masters: readonly Peer[], clock: Clock, masterTimeoutMs: number, report: Report) {
    this.masters = masters;
    this.#clock = clock;
    this.#masterTimeoutMs = masterTimeoutMs;
    this.#report = report;
  }

  stragglers(): readonly Peer[] {
    return [...this.#stragglers];
  }

  /** The stragglers and the masters that fail at present: an answer of theirs may take long. */
  slow(): readonly Peer[] {
    return [...this.#stragglers, ...this.#failing.keys()];
  }

  /** The masters that fail at present, in their order, each with its most telling failure. */
  failures(): MasterFailure[] {
    return failuresIn(inOrderOf(this.masters, this.#failing));
  }

  /** As askAll; remembers what the votes show of the masters. */
  async ask<Vote extends Reply>(request: RoundRequest<Peer, Vote>): Promise<Round<Peer, Vote>> {
    const owing = new Set(request.masters);
    const askedAt = this.#clock.now();
    const onVote: typeof request.onVote = (master, vote, how) => {
      if (how !== 'timeout') {
        owing.delete(master);
        this.#stragglers.delete(master);
      }
      if (vote.kind === 'extended') this.#compareTimes(master, vote, askedAt);
      if (how !== 'withdrawn') this.#noteFailure(master, vote);
      request.onVote?.(master, vote, how);
    };
    const timeoutMs = this.#masterTimeoutMs;
    const late: Failed = {
      kind: 'failed',
      cause: 'timeout',
      message: `no answer within ${timeoutMs} ms`,
      advice: 'see that it runs, is not overloaded, and is not cut off',
    };
    const round = await askAll({ ...request, onVote }, this.#clock, timeoutMs, late);
    // A round that was cut short says nothing of the masters that had no time to answer.
    if (request.cancelled?.aborted) return round;
    for (const master of owing) this.#stragglers.add(master);
    return round;
  }

  #noteFailure(master: Peer, vote: Reply): void {
    if (vote.kind === 'failed') {
      const known = this.#failing.get(master);
      this.#failing.set(master, known ? moreTelling(known, vote) : vote);
      if (!known) this.#report({ kind: 'master-failing', master: master.name, failed: vote });
    } else if (this.#failing.delete(master)) {
      this.#report({ kind: 'master-recovered', master: master.name });
    }
  }

  /** A master expires keys by its time of day: where that jumps forward, it drops locks early. */
  #compareTimes(master: Peer, { masterTimeMs }: Extended, askedAt: number): void {
    const at = this.#clock.now();
    const lead = { minMs: masterTimeMs - at, maxMs: masterTimeMs - askedAt, at };
    const last = this.#leads.get(master) ?? lead;
    this.#leads.set(master, lead);
    const aheadMs = jumpBetween(last, lead);
    if (aheadMs !== 0) this.#report({ kind: 'master-jumped', master: master.name, aheadMs });
  }
}

/**
 * By how many ms a master's clock jumped ahead of ours between two answers; negative: behind; 0:
 * drift, or the time that the answers were under way, explains the difference.
 */
export function jumpBetween(last: Lead, lead: Lead): number {
  const driftMs = driftMsOf(lead.at - last.at, defaultDriftFactor);
  const aheadMs = lead.minMs - last.maxMs;
  const behindMs = last.minMs - lead.maxMs;
  if (aheadMs > driftMs) return Math.round(aheadMs);
  return behindMs > driftMs ? -Math.round(behindMs) : 0;
}

/** The least telling first. */
const order: readonly FailureCause[] = [
  'timeout',
  'connection',
  'restarted',
  'reply',
  'misconfigured',
  'denied',
];

/**
 * Of two failures of one master the one that says more; of two equal ones the later. A master that
 * stays down fails in several ways: after a refused login, only the connection has ended.
 */
export function moreTelling(earlier: Failed, later: Failed): Failed {
  const rankOf = ({ cause, isVague }: Failed) => 2 * order.indexOf(cause) + (isVague ? 0 : 1);
  return rankOf(later) >= rankOf(earlier) ? later : earlier;
}

export function countOf(votes: ReadonlyMap<Named, Reply>, kind: Reply['kind']): number {
  return [...votes.values()].filter((vote) => vote.kind === kind).length;
}

export function failuresIn(votes: ReadonlyMap<Named, unknown>): MasterFailure[] {
  return [...votes].flatMap(([{ name }, vote]) =>
    isFailed(vote) ? [{ master: name, failed: vote }] : [],
  );
}

/** A vote may have any shape: sentinels and redlockctl ask for other things than locks. */
function isFailed(vote: unknown): vote is Failed {
  return typeof vote === 'object' && vote !== null && 'kind' in vote && vote.kind === 'failed';
}

function inOrderOf<Peer, Vote>(masters: readonly Peer[], votes: ReadonlyMap<Peer, Vote>) {
  const ordered = new Map<Peer, Vote>();
  for (const master of masters) {
    const vote = votes.get(master);
    if (vote !== undefined) ordered.set(master, vote);
  }
  return ordered;
}
