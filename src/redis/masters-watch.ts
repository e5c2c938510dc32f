// Warns where another host uses masters that could grant a lock beside those of this host, or
// refuses to hold a lock there. Each program records on its masters which ones it uses, by the ids
// of their data sets (scripts/server.lua), so other names for the same servers make no difference.

import type { IdentifiedServer } from '../lock/acquire.ts';
import type { Clock, LockEvent, Report } from '../lock/ports.ts';
import { quorumOf } from '../lock/quorum.ts';
import type { Failed } from '../lock/types.ts';
import { printable } from '../text/foreign-text.ts';
import { plural } from '../text/plural.ts';
import { failed, isFailed } from './errors.ts';
import type { Mark, ServerIdentity, UsedSet } from './identity.ts';

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const maxShownCount = 3;

/** The values of the key differingMasters. */
export const reactions = ['warn', 'error', 'ignore'] as const;
export type Reaction = (typeof reactions)[number];

/** A server as far as its mark matters. */
interface MarkedServer extends IdentifiedServer {
  readonly identity: Pick<ServerIdentity, 'mark'> | Failed | null;
  recordSet(host: string, ids: readonly string[]): Promise<unknown>;
}

/** All masters of this host, each with its mark. */
export type MarkedMasters = readonly { readonly name: string; readonly mark: Mark }[];

/** The set of another host; `name`: the master that reported it. */
export type ReportedSet = UsedSet & { readonly name: string };

export type Difference = Omit<Extract<LockEvent, { kind: 'masters-differ' }>, 'kind'>;

export function idsOf(masters: MarkedMasters): string[] {
  return masters.flatMap(({ mark }) => mark.id ?? []).sort();
}

/**
 * The sets that could grant a lock beside ours, the last used first: some quorum of one has no
 * master in common with some quorum of the other. A set counts for a day, and only if it was used
 * since each of our masters has its mark: one of them may have been emptied or added since.
 */
export function dangerousSets(masters: MarkedMasters, now: number): ReportedSet[] {
  const ours = idsOf(masters);
  const countsFrom = Math.max(now - dayMs, ...masters.map(({ mark }) => mark.since));
  const couldBothGrant = ({ ids }: UsedSet) => {
    const serverCount = new Set([...ours, ...ids]).size;
    return quorumOf(ours.length) + quorumOf(ids.length) <= serverCount;
  };
  return masters
    .flatMap(({ name, mark }) => mark.sets.map((set) => ({ ...set, name })))
    .filter((set) => set.usedAt > countsFrom && couldBothGrant(set))
    .sort((a, b) => b.usedAt - a.usedAt);
}

export function differenceFrom({ host, ids }: UsedSet, masters: MarkedMasters): Difference {
  const missing = masters.filter(({ mark }) => mark.id !== null && !ids.includes(mark.id));
  const sharedCount = masters.length - missing.length;
  const otherCount = ids.length - sharedCount;
  return { host, otherCount, missing: missing.map(({ name }) => name).sort() };
}

/** `could grant a lock beside web1's: it has 2 other masters and does not have 10.0.0.4:6379` */
function differenceText({ host, otherCount, missing }: Difference): string {
  const restCount = missing.length - maxShownCount;
  const shown = missing.slice(0, maxShownCount).map((name) => printable(name));
  const rest = restCount > 0 ? ` and ${restCount} more` : '';
  const differences = [
    ...(otherCount > 0 ? [`has ${plural(otherCount, 'other master')}`] : []),
    ...(missing.length > 0 ? [`does not have ${shown.join(', ')}${rest}`] : []),
  ];
  return `could grant a lock beside ${printable(host)}'s: it ${differences.join(' and ')}`;
}

const advice = 'give all hosts the same masters, or change one at a time';

/** What may come of a difference, and what to do. */
export const differenceAdvice = { why: 'two hosts could hold one lock at the same time', advice };

export function differenceLine(difference: Difference): string {
  return `this host's masters ${differenceText(difference)} (${advice})`;
}

export class MastersWatch {
  readonly #masters: readonly MarkedServer[];
  readonly #clock: Clock;
  readonly #host: string;
  readonly #reaction: Reaction;
  readonly #isRecording: boolean;
  #hasWarned = false;
  #recorded = { set: '', at: 0 };

  /** `masters`: all of this host; `isRecording`: whether its set of masters is recorded. */
  constructor(
    masters: readonly MarkedServer[],
    clock: Clock,
    host: string,
    reaction: Reaction,
    isRecording: boolean,
  ) {
    this.#masters = masters;
    this.#clock = clock;
    this.#host = host;
    this.#reaction = reaction;
    this.#isRecording = isRecording;
  }

  /** The masters; one that reports a dangerous set is rejected, if that is to be an error. */
  get servers(): readonly IdentifiedServer[] {
    if (this.#reaction !== 'error') return this.#masters;
    const rejectionOf = (server: MarkedServer) => server.rejection ?? this.#rejectionBy(server);
    return this.#masters.map((server) => ({
      name: server.name,
      identify: () => server.identify(),
      get rejection() {
        return rejectionOf(server);
      },
    }));
  }

  /** Warns once, and records our set. Nothing waits for that. */
  see({ kind }: { readonly kind: string }, report: Report): void {
    if (this.#reaction === 'ignore' || (kind !== 'acquired' && kind !== 'extended')) return;
    const masters = this.#markedMasters();
    if (masters === null) return;
    const now = this.#clock.now();
    const [set] = this.#hasWarned ? [] : dangerousSets(masters, now);
    if (set !== undefined) {
      this.#hasWarned = true;
      report({ kind: 'masters-differ', ...differenceFrom(set, masters) });
    }
    if (this.#isRecording) this.#record(masters, now);
  }

  #rejectionBy({ name }: MarkedServer): Failed | null {
    const masters = this.#markedMasters();
    const [set] = masters === null ? [] : dangerousSets(masters, this.#clock.now());
    if (masters === null || set?.name !== name) return null;
    const text = differenceText(differenceFrom(set, masters));
    return failed('misconfigured', `this host's masters ${text}`, advice);
  }

  /** Null while one of them has not reported its mark: then our set is not known. */
  #markedMasters(): MarkedMasters | null {
    const marked = this.#masters.flatMap(({ name, identity }) =>
      identity && !isFailed(identity) && identity.mark?.id ? [{ name, mark: identity.mark }] : [],
    );
    return marked.length === this.#masters.length ? marked : null;
  }

  /** Once an hour, and when the set has changed, unless it has just been recorded. */
  #record(masters: MarkedMasters, now: number): void {
    const ids = idsOf(masters);
    const set = ids.join();
    if (set === this.#recorded.set && now - this.#recorded.at < hourMs) return;
    this.#recorded = { set, at: now };
    for (const [index, { mark }] of masters.entries()) {
      const isOurs = ({ ids: used }: UsedSet) => used.join() === set;
      const isRecent = mark.sets.some((used) => isOurs(used) && now - used.usedAt < hourMs);
      const isChanged = mark.sets.some((used) => used.host === this.#host && !isOurs(used));
      if (!isRecent || isChanged) void this.#masters[index]?.recordSet(this.#host, ids);
    }
  }
}
