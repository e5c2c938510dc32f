// The requests to stop of a world: which holders each was for, and which masters have passed it on.
// The checkers: only a holder that was asked stops, on the word of a quorum; what the person is
// told is true; a holder that can hear does stop; and the history says at whose request.

import { parseAct, parseRun } from '../../src/lock/history.ts';
import { parseRequest } from '../../src/lock/people.ts';
import { quorumOf } from '../../src/lock/quorum.ts';
import { parseValue } from '../../src/lock/value.ts';
import type { SimServer } from './sim-server.ts';
import type { Fact, Witness } from './witness.ts';

/** A holder that was asked, as src/ctl/operations.ts has it. */
export interface Asked {
  readonly token: string;
  readonly value: string;
}

export type StopFact =
  /** `askedAt`: in true time. */
  | {
      readonly kind: 'stop-answered';
      readonly id: string;
      readonly asked: readonly Asked[];
      readonly outcome: string;
      readonly askedAt: number;
    }
  /** A holder begins to stop because it was asked. */
  | { readonly kind: 'stopped'; readonly value: string };

export class Stops {
  /** By request, the tokens that it was for. */
  readonly #tokens = new Map<string, ReadonlySet<string>>();
  /** What was released after its holder was asked to stop. */
  readonly released: { readonly value: string; readonly resources: readonly string[] }[] = [];
  /** By request and token, the masters. */
  readonly #passedOn = new Map<string, Set<SimServer>>();

  constructor(servers: readonly SimServer[]) {
    for (const server of servers) {
      server.onPassed = (message) => {
        const request = parseRequest(message);
        if (request === null) return;
        const key = `${request.id} ${request.token}`;
        this.#passedOn.set(key, (this.#passedOn.get(key) ?? new Set()).add(server));
      };
    }
  }

  asked(id: string, holders: readonly Asked[]): void {
    this.#tokens.set(id, new Set(holders.map(({ token }) => token)));
  }

  /** On how many masters a request to this holder was passed on, at most. */
  wordsFor(token: string): number {
    const ids = [...this.#tokens].flatMap(([id, tokens]) => (tokens.has(token) ? [id] : []));
    return Math.max(0, ...ids.map((id) => this.#passedOn.get(`${id} ${token}`)?.size ?? 0));
  }
}

export const stopCheckers = {
  /** A holder stops only when it was asked itself, on the word of a quorum. */
  asked(fact: Fact, { stops, masterCount }: Witness): string | null {
    if (fact.kind !== 'stopped') return null;
    const count = stops.wordsFor(parseValue(fact.value).token);
    return count >= quorumOf(masterCount)
      ? null
      : `${fact.value} stops, and ${count} masters have passed on that it was asked`;
  },

  /** When a stop is reported, no holder that was asked holds the lock. */
  toldStopped(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'stop-answered' || fact.outcome !== 'stopped') return null;
    const held = fact.asked.find(({ value }) => isHeld(witness, value));
    return held ? `${fact.id} reports a stop, and ${held.value} holds the lock` : null;
  },

  /** In calm weather, every holder that was asked stops in time. */
  heeded(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'stop-answered' || fact.outcome === 'stopped') return null;
    if (!witness.isUndisturbed) return null;
    const held = fact.asked.find(({ value }) => isHeld(witness, value));
    return held ? `${held.value} holds on after ${fact.id}: ${fact.outcome}` : null;
  },

  /**
   * The history says at whose request a run was stopped, and what the person did: in calm weather
   * on a quorum of masters. Otherwise the run says it where it could reach a master; a person that
   * asks many holders may be cut off between one line and the next.
   */
  recorded(fact: Fact, witness: Witness): string | null {
    if (fact.kind !== 'quiet' || witness.isForgetful) return null;
    const quorum = quorumOf(witness.masterCount);
    const [leastRuns, leastActs] = witness.isUndisturbed ? [quorum, quorum] : [1, 0];
    for (const { value, resources } of witness.stops.released) {
      const { token } = parseValue(value);
      for (const name of resources) {
        const histories = witness.servers.map(({ redis }) =>
          redis.historyOf(witness.prefix + name),
        );
        const runCount = countOf(histories, (line) => {
          const run = parseRun(line);
          return run?.token === token && run.stoppedBy?.user === 'ops';
        });
        const actCount = countOf(histories, (line) => parseAct(line)?.token === token);
        if (runCount < leastRuns || actCount < leastActs)
          return `${value} was asked to stop, as ${runCount} and ${actCount} masters have it`;
      }
    }
    return null;
  },
};

function countOf(histories: readonly (readonly string[])[], isIt: (line: string) => boolean) {
  return histories.filter((lines) => lines.some(isIt)).length;
}

function isHeld({ holdings, world }: Witness, value: string): boolean {
  const holding = holdings.get(value);
  return holding?.isBelieved === true && holding.validUntil > world.now;
}
