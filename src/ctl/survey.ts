// All masters asked the same thing at once, each with its deadline, every answer waited for: who only looks wants to see the last
// master too. Not a lock's round, which ends as soon as the verdict is certain. The surprise: a master that failed once is not asked
// again within one survey, so that a frozen one costs one time-out and not one for each of ten thousand locks.

import { localMasters } from '../local/local-masters.ts';
import type { Clock, Failed, ReleaseReply, Sharing } from '../lock/ports.ts';
import { type MasterAddress, parseAddress } from '../redis/address.ts';
import { Roster } from '../redis/identity.ts';
import { Inspector, type Page, type SeenLine } from '../redis/inspector.ts';
import { failed, isFailed } from '../redis/trouble.ts';
import { type LockState, lockStateOf, type Testimony } from './lock-state.ts';
import type { CtlSettings } from './settings.ts';

/** Locks read in one step: about a millisecond of a master's time. */
const batchSize = 100;
/** Histories read in one step: each may be long. */
const historyBatchSize = 10;
/** Keys that one SCAN goes through. */
const pageSize = 1_000;

/** Those of the settings, and the local ones that are running. Throws LocalTrouble. */
export async function addressesOf(settings: CtlSettings): Promise<MasterAddress[]> {
  const own = settings.local ? await localMasters(settings.localDirectory) : [];
  return [...settings.masters, ...own.map(({ socket }) => parseAddress(`unix://${encodeURI(socket)}`))];
}

export class Survey {
  readonly inspectors: readonly Inspector[];
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #failed = new Map<Inspector, Failed>();

  constructor(inspectors: readonly Inspector[], clock: Clock, timeoutMs: number) {
    this.inspectors = inspectors;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** On the masters of the settings. Local ones are not started: who looks must not change what is so. Throws LocalTrouble. */
  static async of(settings: CtlSettings, clock: Clock): Promise<Survey> {
    const { prefix, restartGraceMs, protocol, masterTimeoutMs } = settings;
    const roster = new Roster();
    const addresses = await addressesOf(settings);
    const inspectors = addresses.map(
      (address) => new Inspector(address, { prefix, restartGraceMs, protocol }, roster, clock),
    );
    return new Survey(inspectors, clock, masterTimeoutMs);
  }

  /** One answer of each master, in their order. */
  async ask<Answer>(
    question: (inspector: Inspector) => Promise<Answer | Failed>,
    timeoutMs = this.#timeoutMs,
  ): Promise<(Answer | Failed)[]> {
    return Promise.all(this.inspectors.map((inspector) => this.#askOne(inspector, question, timeoutMs)));
  }

  /** The state of each of these locks, in their order. */
  async look(names: readonly string[]): Promise<LockState[]> {
    const testimonies = await this.testimonies(names);
    return names.map((name, index) => lockStateOf(name, testimonies[index] ?? []));
  }

  /** What each master says of each of these locks. */
  async testimonies(names: readonly string[]): Promise<Testimony[][]> {
    const doubts = await this.ask(async (inspector) => ({ doubt: await inspector.doubt() }));
    const all: Testimony[][] = [];
    for (let from = 0; from < names.length; from += batchSize) {
      const batch = names.slice(from, from + batchSize);
      const sights = await this.ask((inspector) => inspector.look(batch));
      for (const index of batch.keys()) {
        all.push(
          this.inspectors.map(({ name }, at) => {
            const [sight, doubt] = [sights[at], doubts[at]];
            if (sight === undefined || isFailed(sight)) return { master: name, sight: sight ?? silence, doubt: null };
            return {
              master: name,
              sight: sight[index] ?? silence,
              doubt: isFailed(doubt) ? doubt : (doubt?.doubt ?? null),
            };
          }),
        );
      }
    }
    return all;
  }

  /** The names of all locks that match the glob on any master, sorted, each once. Never asks for all keys at once. */
  names(pattern: string): Promise<string[]> {
    return this.#collected((inspector, cursor) => inspector.page(cursor, pattern, pageSize));
  }

  /** The names of all locks that have a history on any master, sorted, each once. */
  historyNames(): Promise<string[]> {
    return this.#collected((inspector, cursor) => inspector.historyPage(cursor, pageSize));
  }

  /** What each master keeps of the runs of each of these locks, newest first; nothing where it fails. */
  async histories(names: readonly string[], mostLines: number): Promise<(readonly (readonly SeenLine[])[])[]> {
    const all: (readonly (readonly SeenLine[])[])[] = [];
    for (let from = 0; from < names.length; from += historyBatchSize) {
      const batch = names.slice(from, from + historyBatchSize);
      const answers = await this.ask((inspector) => inspector.history(batch, mostLines));
      for (const index of batch.keys())
        all.push(answers.map((answer) => (isFailed(answer) ? [] : (answer[index] ?? []))));
    }
    return all;
  }

  /** Removes exactly this value wherever it stands so. */
  remove(name: string, value: string, sharing?: Sharing): Promise<ReleaseReply[]> {
    return this.ask<ReleaseReply>((inspector) => inspector.remove(name, value, sharing));
  }

  /** Calls whoever listens under this id. */
  async call(name: string, id: string): Promise<void> {
    await this.ask((inspector) => inspector.call(name, id));
  }

  /** Puts another value in its place wherever exactly this one is, for as long as it would have lasted. */
  replace(name: string, value: string, by: string): Promise<ReleaseReply[]> {
    return this.ask<ReleaseReply>((inspector) => inspector.replace(name, value, by));
  }

  /** Why each master is not asked any more, in their order; null: it is. */
  failures(): (Failed | null)[] {
    return this.inspectors.map((inspector) => this.#failed.get(inspector) ?? null);
  }

  /** Asks those again that have failed. */
  forgive(): void {
    this.#failed.clear();
  }

  /** Resolves after so many ms. */
  pause(durationMs: number): Promise<void> {
    return this.#clock.sleep(durationMs);
  }

  close(): void {
    for (const inspector of this.inspectors) inspector.close();
  }

  async #collected(ask: AskPage): Promise<string[]> {
    const names = new Set<string>();
    await Promise.all(this.inspectors.map((inspector) => this.#collect(inspector, ask, names)));
    return [...names].sort();
  }

  async #collect(inspector: Inspector, ask: AskPage, names: Set<string>): Promise<void> {
    let cursor = '0';
    do {
      const page = await this.#askOne(inspector, () => ask(inspector, cursor));
      if (isFailed(page)) return;
      for (const name of page.resources) names.add(name);
      cursor = page.cursor;
    } while (cursor !== '0');
  }

  async #askOne<Answer>(
    inspector: Inspector,
    question: (inspector: Inspector) => Promise<Answer | Failed>,
    timeoutMs = this.#timeoutMs,
  ): Promise<Answer | Failed> {
    const known = this.#failed.get(inspector);
    if (known !== undefined) return known;
    const answered = new AbortController();
    const late = this.#clock.sleep(timeoutMs, answered.signal).then(() => noAnswer(timeoutMs));
    const answer = await Promise.race([question(inspector), late]);
    answered.abort();
    if (isFailed(answer)) this.#failed.set(inspector, answer);
    return answer;
  }
}

type AskPage = (inspector: Inspector, cursor: string) => Promise<Page | Failed>;

const silence = failed('reply', 'has said nothing about it');

function noAnswer(timeoutMs: number): Failed {
  return failed('timeout', `no answer within ${timeoutMs} ms`);
}
