// All masters asked the same thing at once, each with its deadline, every answer waited for: unlike
// a lock's round, which ends as soon as the verdict is certain. A master that failed once is not
// asked again within one survey, so that a frozen one costs one time-out and not one for each of
// ten thousand locks. However a master answers, a survey ends: what one may take in all is bounded
// as well.

import { localMasters } from '../local/local-masters.ts';
import type { Clock } from '../lock/ports.ts';
import type { Failed, ReleaseReply, Sharing } from '../lock/types.ts';
import { type MasterAddress, parseAddress } from '../redis/address.ts';
import { ServerRegistry } from '../redis/identity.ts';
import { LockObserver } from '../redis/inspector.ts';
import type { Page, SeenLine } from '../redis/snapshot.ts';
import { failed, isFailed } from '../redis/trouble.ts';
import { roughly } from '../text/lines.ts';
import { quoted } from '../text/quote.ts';
import { type LockState, lockStateOf, type MasterReport } from './lock-state.ts';
import type { CtlSettings } from './settings.ts';

/** Locks read in one step: about a millisecond of a master's time. */
const batchSize = 100;
/** Histories read in one step: each may be long. */
const historyBatchSize = 10;
/** Keys that one SCAN goes through. */
const pageSize = 1_000;

/** How much is asked for. */
export interface QueryLimits {
  /** How long one master may take to answer one question. */
  readonly answerMs: number;
  /** How long one master may take to answer all of them. */
  readonly totalMs: number;
  /** How long the names on one master are collected. */
  readonly namesMs: number;
  /** How many names, and how many characters of names, are collected on one master. */
  readonly nameCount: number;
  readonly nameChars: number;
}

const usualLimits = {
  totalMs: 120_000,
  namesMs: 10_000,
  nameCount: 100_000,
  nameChars: 20_000_000,
};

/** Those of the settings, and the local ones that are running. Throws LocalTrouble. */
export async function addressesOf(settings: CtlSettings): Promise<MasterAddress[]> {
  const own = settings.local ? await localMasters(settings.localDirectory) : [];
  return [
    ...settings.masters,
    ...own.map(({ socket }) => parseAddress(`unix://${encodeURI(socket)}`)),
  ];
}

export class MasterQuery {
  readonly observers: readonly LockObserver[];
  readonly #clock: Clock;
  readonly #limits: QueryLimits;
  readonly #failed = new Map<LockObserver, Failed>();
  /** Masters that have told a part of what they were asked for. */
  readonly #cutOff = new Map<LockObserver, Failed>();
  readonly #spentMs = new Map<LockObserver, number>();

  constructor(
    observers: readonly LockObserver[],
    clock: Clock,
    limits: Partial<QueryLimits> & Pick<QueryLimits, 'answerMs'>,
  ) {
    this.observers = observers;
    this.#clock = clock;
    this.#limits = { ...usualLimits, ...limits };
  }

  /**
   * On the masters of the settings. Local ones are not started: to look must not change what is so.
   * Throws LocalTrouble.
   */
  static async of(
    settings: CtlSettings,
    clock: Clock,
    limits: Partial<QueryLimits> = {},
  ): Promise<MasterQuery> {
    const { prefix, restartGraceMs, protocol, masterTimeoutMs } = settings;
    const registry = new ServerRegistry();
    const addresses = await addressesOf(settings);
    const observers = addresses.map(
      (address) => new LockObserver(address, { prefix, restartGraceMs, protocol }, registry, clock),
    );
    return new MasterQuery(observers, clock, { answerMs: masterTimeoutMs, ...limits });
  }

  /** One answer of each master, in their order. */
  async ask<Answer>(
    question: (observer: LockObserver) => Promise<Answer | Failed>,
    timeoutMs = this.#limits.answerMs,
  ): Promise<(Answer | Failed)[]> {
    return Promise.all(
      this.observers.map((observer) => this.#askOne(observer, question, timeoutMs)),
    );
  }

  /** The state of each of these locks, in their order. */
  async look(names: readonly string[]): Promise<LockState[]> {
    const reports = await this.reports(names);
    return names.map((name, index) => lockStateOf(name, reports[index] ?? []));
  }

  /** What each master says of each of these locks. */
  async reports(names: readonly string[]): Promise<MasterReport[][]> {
    const doubts = await this.ask(async (observer) => ({ doubt: await observer.doubt() }));
    const all: MasterReport[][] = [];
    for (let from = 0; from < names.length; from += batchSize) {
      const batch = names.slice(from, from + batchSize);
      const sights = await this.ask((observer) => observer.look(batch));
      for (const index of batch.keys()) {
        all.push(
          this.observers.map(({ name }, at) => {
            const [sight, doubt] = [sights[at], doubts[at]];
            if (sight === undefined || isFailed(sight))
              return { master: name, sight: sight ?? silence, doubt: null };
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
    return this.#collected((observer, cursor) => observer.page(cursor, pattern, pageSize));
  }

  /** The names of all locks that have a history on any master, sorted, each once. */
  historyNames(): Promise<string[]> {
    return this.#collected((observer, cursor) => observer.historyPage(cursor, pageSize));
  }

  /** What each master keeps of the runs of each of these locks, newest first; nothing where it fails. */
  async histories(
    names: readonly string[],
    mostLines: number,
  ): Promise<(readonly (readonly SeenLine[])[])[]> {
    const ofEach = await Promise.all(
      this.observers.map((observer) => this.#historiesOn(observer, names, mostLines)),
    );
    return names.map((_, index) => ofEach.map((histories) => histories[index] ?? []));
  }

  /** Removes exactly this value wherever it stands so. */
  remove(name: string, value: string, sharing?: Sharing): Promise<ReleaseReply[]> {
    return this.ask<ReleaseReply>((observer) => observer.remove(name, value, sharing));
  }

  /** Calls whoever listens under this id. */
  async call(name: string, id: string): Promise<void> {
    await this.ask((observer) => observer.call(name, id));
  }

  /** Puts another value in its place wherever exactly this one is, for as long as it would have lasted. */
  replace(name: string, value: string, by: string): Promise<ReleaseReply[]> {
    return this.ask<ReleaseReply>((observer) => observer.replace(name, value, by));
  }

  /** Why each master has not told all that it was asked for, in their order; null: it has. */
  failures(): (Failed | null)[] {
    return this.observers.map(
      (observer) => this.#failed.get(observer) ?? this.#cutOff.get(observer) ?? null,
    );
  }

  /** Asks those again that have failed. */
  forgive(): void {
    for (const known of [this.#failed, this.#cutOff, this.#spentMs]) known.clear();
  }

  /** Resolves after so many ms. */
  pause(durationMs: number): Promise<void> {
    return this.#clock.sleep(durationMs);
  }

  close(): void {
    for (const observer of this.observers) observer.close();
  }

  async #collected(ask: AskPage): Promise<string[]> {
    const names = await Promise.all(this.observers.map((observer) => this.#collect(observer, ask)));
    return [...new Set(names.flat())].sort();
  }

  /** A server may answer to SCAN for ever: it is asked no longer than the limits say. */
  async #collect(observer: LockObserver, ask: AskPage): Promise<string[]> {
    const { namesMs, nameCount, nameChars } = this.#limits;
    const names = new Set<string>();
    const beganAt = this.#clock.now();
    let cursor = '0';
    let charCount = 0;
    for (;;) {
      const page = await this.#askOne(observer, () => ask(observer, cursor));
      if (isFailed(page)) return [...names];
      for (const name of page.resources) {
        if (names.has(name)) continue;
        charCount += name.length;
        if (names.size >= nameCount || charCount > nameChars)
          return this.#cut(observer, names, `has more than ${names.size} names`);
        names.add(name);
      }
      cursor = page.cursor;
      if (cursor === '0') return [...names];
      if (this.#clock.now() - beganAt >= namesMs)
        return this.#cut(
          observer,
          names,
          `has not told all of its names within ${roughly(namesMs)}`,
        );
    }
  }

  #cut(observer: LockObserver, names: ReadonlySet<string>, why: string): string[] {
    this.#cutOff.set(observer, failed('reply', `${why}: cut off, names may be missing`));
    return [...names];
  }

  async #historiesOn(
    observer: LockObserver,
    names: readonly string[],
    mostLines: number,
  ): Promise<(readonly SeenLine[])[]> {
    const all: (readonly SeenLine[])[] = [];
    while (all.length < names.length) {
      const batch = names.slice(all.length, all.length + historyBatchSize);
      const answer = await this.#askOne(observer, () => observer.history(batch, mostLines));
      if (isFailed(answer)) return all;
      const { histories, isWhole } = answer;
      if (histories.length === 0 || (isWhole && histories.length < batch.length)) {
        this.#failed.set(observer, silence);
        return all;
      }
      // One that did not fit behind others is asked for by itself.
      all.push(...(isWhole || histories.length === 1 ? histories : histories.slice(0, -1)));
      if (!isWhole && histories.length === 1)
        this.#cutOff.set(
          observer,
          failed(
            'reply',
            `keeps too much about ${quoted(batch[0] ?? '')}: cut off, older runs may be missing`,
          ),
        );
    }
    return all;
  }

  async #askOne<Answer>(
    observer: LockObserver,
    question: (observer: LockObserver) => Promise<Answer | Failed>,
    timeoutMs = this.#limits.answerMs,
  ): Promise<Answer | Failed> {
    const known = this.#failed.get(observer);
    if (known !== undefined) return known;
    const { totalMs } = this.#limits;
    const spentMs = this.#spentMs.get(observer) ?? 0;
    const askedAt = this.#clock.now();
    const answered = new AbortController();
    const late = this.#clock.sleep(timeoutMs, answered.signal).then(() => noAnswer(timeoutMs));
    const answer =
      spentMs < totalMs ? await Promise.race([question(observer), late]) : tooSlow(totalMs);
    answered.abort();
    this.#spentMs.set(observer, spentMs + this.#clock.now() - askedAt);
    if (isFailed(answer)) this.#failed.set(observer, answer);
    return answer;
  }
}

type AskPage = (observer: LockObserver, cursor: string) => Promise<Page | Failed>;

const silence = failed('reply', 'has said nothing about it');

function noAnswer(timeoutMs: number): Failed {
  return failed('timeout', `no answer within ${timeoutMs} ms`);
}

function tooSlow(totalMs: number): Failed {
  return failed('timeout', `answers took ${roughly(totalMs)} in all`);
}
