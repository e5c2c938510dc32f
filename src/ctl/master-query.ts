// One question to every master at once, each with its deadline. Unlike a round of the lock, a query
// waits for every answer. A master that fails is not asked again within the same query, so that a
// frozen master costs one time-out, and not one for each of ten thousand locks. The total time and
// the amount that one master may take are bounded as well.

import { localMasters } from '../local/local-masters.ts';
import type { Clock } from '../lock/ports.ts';
import { quorumOf } from '../lock/quorum.ts';
import { askAll } from '../lock/round.ts';
import type { Failed } from '../lock/types.ts';
import { localAddress, type MasterAddress, readPasswords } from '../redis/address.ts';
import { failed, isFailed } from '../redis/errors.ts';
import { type Server, serversAt } from '../redis/server.ts';
import { noHistory, type Page, type SeenHistory } from '../redis/snapshot.ts';
import { quoted } from '../text/foreign-text.ts';
import { failureLine, roughly } from '../text/lines.ts';
import { type LockState, lockStateOf, type MasterReport } from './lock-state.ts';
import type { CtlSettings } from './settings.ts';

/** Locks read in one request: about a millisecond of a master's time. */
const batchSize = 100;
/** Histories read in one request; the reply has room for some thousands of lines. */
const historyBatchSize = 250;
/** More lines than a master keeps of one lock (history.lua). */
export const allLines = 1_500;
/** Names of histories read in one request. */
export const pageSize = 1_000;

/** How much one master may take of a query. */
const max = {
  /** For all answers together. */
  totalMs: 120_000,
  /** For the names of locks. */
  namesMs: 10_000,
  nameCount: 100_000,
  /** In characters, of all names. */
  nameLength: 20_000_000,
};

export class MasterQuery {
  readonly servers: readonly Server<MasterAddress>[];
  readonly clock: Clock;
  readonly #timeoutMs: number;
  /** Masters that are no longer asked, and why. */
  readonly #failed = new Map<Server, Failed>();
  /** Masters whose answer was cut off, and why. */
  readonly #cutOff = new Map<Server, Failed>();
  readonly #spentMs = new Map<Server, number>();

  /** `timeoutMs`: how long one master may take for one answer. */
  constructor(servers: readonly Server<MasterAddress>[], clock: Clock, timeoutMs: number) {
    this.servers = servers;
    this.clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * A query of the masters of the settings. Local masters are not started: a query changes nothing.
   * Throws LocalError.
   */
  static async of(settings: CtlSettings, clock: Clock): Promise<MasterQuery> {
    const servers = await openServers(settings, clock, 'look');
    return new MasterQuery(servers, clock, settings.masterTimeoutMs);
  }

  /** The answer of each master, in the order of the masters. */
  ask<Answer>(
    question: Question<Answer>,
    timeoutMs = this.#timeoutMs,
  ): Promise<(Answer | Failed)[]> {
    return Promise.all(this.servers.map((server) => this.#askOne(server, question, timeoutMs)));
  }

  /** The states of these locks, in the order of the names. */
  look(names: readonly string[]): Promise<LockState[]> {
    return this.#read(names, lockStateOf);
  }

  /** For each of these locks the report of each master. */
  reports(names: readonly string[]): Promise<MasterReport[][]> {
    return this.#read(names, (_, reports) => reports);
  }

  /** `make` is called for each lock at once: the reports of thousands are not kept. */
  async #read<Made>(
    names: readonly string[],
    make: (name: string, reports: MasterReport[]) => Made,
  ): Promise<Made[]> {
    const checks = await this.ask(async (server) => ({
      failure: await server.restartFailure(),
    }));
    const restartFailures = checks.map((check) => (isFailed(check) ? check : check.failure));
    const all: Made[] = [];
    for (let from = 0; from < names.length; from += batchSize) {
      const batch = names.slice(from, from + batchSize);
      const answers = await this.ask((server) => server.look(batch));
      for (const [index, lock] of batch.entries()) {
        const reports = this.servers.map(({ name: master }, at) => {
          const answer = answers[at] ?? silence;
          if (isFailed(answer)) return { master, snapshot: answer, restartFailure: null };
          const snapshot = answer[index] ?? silence;
          return { master, snapshot, restartFailure: restartFailures[at] ?? null };
        });
        all.push(make(lock, reports));
      }
    }
    return all;
  }

  /**
   * The names of all locks that match the glob on any master, sorted, each once: of those that have
   * a key, and of those that are frozen. By SCAN, for at most `limitMs` on each master for either.
   */
  async names(pattern: string, limitMs = max.namesMs): Promise<string[]> {
    const held = await this.namesOf('locks', pattern, limitMs);
    const frozen = await this.namesOf('freezes', pattern, limitMs);
    return frozen.length === 0 ? held : [...new Set([...held, ...frozen])].sort();
  }

  /** As `names`, of one of the two. */
  namesOf(of: 'locks' | 'freezes', pattern: string, limitMs = max.namesMs): Promise<string[]> {
    return this.#collect((server, cursor) => server.page(of, cursor, pattern), limitMs);
  }

  /**
   * The names of all locks whose history has changed since `sinceMs` on any master, in ms since
   * 1970; sorted, each once. null: the thousand on each master whose history changed last.
   */
  historyNames(sinceMs: number | null): Promise<string[]> {
    return this.#collect(async (server, cursor) => {
      const page = await server.historyPage(cursor, pageSize, sinceMs ?? 0);
      return isFailed(page) || sinceMs !== null ? page : { ...page, cursor: '0' };
    }, max.namesMs);
  }

  /** For each of these locks the history on each master; empty where that fails. */
  async histories(names: readonly string[], maxLines: number): Promise<(readonly SeenHistory[])[]> {
    const ofEach = await Promise.all(
      this.servers.map((server) => this.#historiesOn(server, names, maxLines)),
    );
    return names.map((_, index) => ofEach.map((histories) => histories[index] ?? noHistory));
  }

  /** Why the answer of each master is missing or cut off; null: it is complete. */
  failures(): (Failed | null)[] {
    return this.servers.map(
      (server) => this.#failed.get(server) ?? this.#cutOff.get(server) ?? null,
    );
  }

  /** The same for people: one line for each of these masters. */
  failureLines(): string[] {
    return this.failures().flatMap((failed, at) =>
      failed === null ? [] : [`${this.servers[at]?.name}: ${failureLine(failed)}`],
    );
  }

  /** The line for too few answers to know what is not there; null: a quorum answered. */
  get noQuorumLine(): string | null {
    const failures = this.failures();
    const answeredCount = failures.filter((failed) => failed === null).length;
    if (answeredCount >= quorumOf(failures.length)) return null;
    return `no quorum: only ${answeredCount} of ${failures.length} masters can tell`;
  }

  /** Forgets failures and time spent: failed masters are asked again. */
  reset(): void {
    for (const known of [this.#failed, this.#cutOff, this.#spentMs]) known.clear();
  }

  close(): void {
    for (const server of this.servers) void server.close();
  }

  async #collect(ask: AskPage, limitMs: number): Promise<string[]> {
    const ofEach = this.servers.map((server) => this.#collectOn(server, ask, limitMs));
    return [...new Set((await Promise.all(ofEach)).flat())].sort();
  }

  /** A server may answer SCAN without end. */
  async #collectOn(server: Server, ask: AskPage, limitMs: number): Promise<string[]> {
    const names = new Set<string>();
    const beganAt = this.clock.now();
    let cursor = '0';
    let length = 0;
    for (;;) {
      const page = await this.#askOne(server, () => ask(server, cursor));
      if (isFailed(page)) return [...names];
      for (const name of page.resources) {
        if (names.has(name)) continue;
        length += name.length;
        if (names.size >= max.nameCount || length > max.nameLength)
          return this.#cut(server, names, `has more than ${names.size} names`);
        names.add(name);
      }
      cursor = page.cursor;
      if (cursor === '0') return [...names];
      const why = `has not listed all of its names within ${roughly(limitMs)}`;
      if (this.clock.now() - beganAt >= limitMs) return this.#cut(server, names, why);
    }
  }

  #cut(server: Server, names: ReadonlySet<string>, why: string): string[] {
    const known = this.#cutOff.get(server);
    this.#cutOff.set(server, known ?? failed('reply', `${why}: cut off, names may be missing`));
    return [...names];
  }

  async #historiesOn(
    server: Server,
    names: readonly string[],
    maxLines: number,
  ): Promise<SeenHistory[]> {
    const all: SeenHistory[] = [];
    while (all.length < names.length) {
      const batch = names.slice(all.length, all.length + historyBatchSize);
      const answer = await this.#askOne(server, () => server.history(batch, maxLines));
      if (isFailed(answer)) return all;
      const { histories, isWhole } = answer;
      if (histories.length === 0 || (isWhole && histories.length < batch.length)) {
        this.#failed.set(server, silence);
        return all;
      }
      // A history that did not fit behind others is requested by itself.
      all.push(...(isWhole || histories.length === 1 ? histories : histories.slice(0, -1)));
      if (!isWhole && histories.length === 1)
        this.#cutOff.set(
          server,
          failed(
            'reply',
            `keeps too much about ${quoted(batch[0] ?? '')}: cut off, older runs may be missing`,
          ),
        );
    }
    return all;
  }

  async #askOne<Answer>(
    server: Server<MasterAddress>,
    question: Question<Answer>,
    timeoutMs = this.#timeoutMs,
  ): Promise<Answer | Failed> {
    const spentMs = this.#spentMs.get(server) ?? 0;
    if (spentMs >= max.totalMs && !this.#failed.has(server)) this.#failed.set(server, tookTooLong);
    const known = this.#failed.get(server);
    if (known !== undefined) return known;
    const askedAt = this.clock.now();
    const request = { masters: [server], ask: question, isCertain: () => false };
    const late = failed('timeout', `no answer within ${timeoutMs} ms`);
    const { votes } = await askAll<typeof server, Answer>(request, this.clock, timeoutMs, late);
    const answer = votes.get(server) as Answer | Failed;
    this.#spentMs.set(server, spentMs + this.clock.now() - askedAt);
    if (isFailed(answer)) this.#failed.set(server, answer);
    return answer;
  }
}

/**
 * The masters of the settings, and the local ones that are running. Throws LocalError,
 * ConfigError.
 */
export async function openServers(
  settings: CtlSettings,
  clock: Clock,
  use: 'lock' | 'look',
): Promise<Server<MasterAddress>[]> {
  await readPasswords(settings.masters);
  const own = settings.local ? await localMasters(settings.localDirectory) : [];
  const addresses = [...settings.masters, ...own.map(({ socket }) => localAddress(socket))];
  return serversAt(addresses, settings, clock, use);
}

type Question<Answer> = (server: Server<MasterAddress>) => Promise<Answer | Failed>;
type AskPage = (server: Server, cursor: string) => Promise<Page | Failed>;

const tookTooLong = failed('timeout', `answers took ${roughly(max.totalMs)} in all`);
const silence = failed('reply', 'has left it out of its answer');
