// The masters as a body: asks all of them, remembers who lags behind, and tells an onlooker when one begins to fail and when
// it recovers. It knows no locks and draws no verdicts. The surprise: a straggler is asked like any other master; only a
// release does not wait for it.

import type { MasterFailure, Report } from './events.ts';
import { MasterTimes } from './master-times.ts';
import { type Polled, poll, type Round } from './poll.ts';
import type { Clock, Extended, Failed, Master } from './ports.ts';

interface AnyVote {
  readonly kind: string;
}

/** A round, as far as it is not the same for every round; over all masters unless it names some. */
export type Ballot<Vote> = Pick<Round<Vote>, 'ask' | 'isCertain' | 'cancelled'> &
  Partial<Pick<Round<Vote>, 'masters' | 'onVote'>>;

export class Electorate {
  readonly masters: readonly Master[];
  readonly #clock: Clock;
  readonly #masterTimeoutMs: number;
  readonly #report: Report;
  readonly #owedCount = new Map<Master, number>();
  readonly #stragglers = new Set<Master>();
  readonly #failing = new Set<Master>();
  readonly #times = new MasterTimes();

  constructor(masters: readonly Master[], clock: Clock, masterTimeoutMs: number, report: Report) {
    this.masters = masters;
    this.#clock = clock;
    this.#masterTimeoutMs = masterTimeoutMs;
    this.#report = report;
  }

  async poll<Vote extends AnyVote>(ballot: Ballot<Vote>): Promise<Polled<Vote>> {
    const masters = ballot.masters ?? this.masters;
    const askedAt = this.#clock.now();
    const polled = await poll<Vote>({
      masters,
      clock: this.#clock,
      masterTimeoutMs: this.#masterTimeoutMs,
      isCertain: ballot.isCertain,
      cancelled: ballot.cancelled,
      ask: (master, withdrawn) => {
        this.#owedCount.set(master, this.#owedBy(master) + 1);
        return ballot.ask(master, withdrawn);
      },
      onAnswer: (master, vote) => {
        if (isExtended(vote)) this.#compareTimes(master, vote, askedAt);
        this.#owedCount.set(master, this.#owedBy(master) - 1);
        if (this.#owedBy(master) === 0) this.#stragglers.delete(master);
      },
      onVote: (master, vote) => {
        this.#note(master, vote);
        ballot.onVote?.(master, vote);
      },
    });
    // A round that was cut short says nothing of the masters that had no time to answer.
    const isOver = !ballot.cancelled?.aborted;
    if (isOver) for (const master of masters) if (this.#owedBy(master) > 0) this.#stragglers.add(master);
    return polled;
  }

  /** The masters that owe an answer to a round which ended without them. */
  stragglers(): readonly Master[] {
    return [...this.#stragglers];
  }

  #owedBy(master: Master): number {
    return this.#owedCount.get(master) ?? 0;
  }

  #note(master: Master, vote: AnyVote): void {
    if (isFailed(vote) && !this.#failing.has(master)) {
      this.#failing.add(master);
      this.#report({ kind: 'master-failing', master: master.name, failed: vote });
    } else if (!isFailed(vote) && this.#failing.delete(master)) {
      this.#report({ kind: 'master-recovered', master: master.name });
    }
  }

  #compareTimes(master: Master, { masterTimeMs }: Extended, askedAt: number): void {
    const aheadMs = this.#times.jumpOf(master, masterTimeMs, askedAt, this.#clock.now());
    if (aheadMs !== 0) this.#report({ kind: 'master-jumped', master: master.name, aheadMs });
  }
}

export function countOf(votes: ReadonlyMap<Master, AnyVote>, kind: string): number {
  return [...votes.values()].filter((vote) => vote.kind === kind).length;
}

export function failuresIn(votes: ReadonlyMap<Master, AnyVote>): MasterFailure[] {
  const failures: MasterFailure[] = [];
  for (const [{ name }, vote] of votes) if (isFailed(vote)) failures.push({ master: name, failed: vote });
  return failures;
}

function isExtended(vote: AnyVote): vote is Extended {
  return vote.kind === 'extended';
}

function isFailed(vote: AnyVote): vote is Failed {
  return vote.kind === 'failed';
}
