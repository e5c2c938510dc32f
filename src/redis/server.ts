// One Redis server and every request to it: those of a lock (Master), what redlockctl reads, and
// what operators do. Replies become votes and answers; one of an unexpected shape is a failure of
// the server.

import { type Clock, type Master, type Subscription, sleepAwake } from '../lock/ports.ts';
import {
  type AcquireReply,
  alone,
  type Claim,
  type ExtendReply,
  type Failed,
  type Granted,
  type ReleaseReply,
  type RepairReply,
  type Sharing,
} from '../lock/types.ts';
import { parseValue } from '../lock/value.ts';
import { Calls, callOf, type Removal, withoutWaiter } from './calls/script-calls.ts';
import { ConnectedServer, type ServerSettings, type ServerUse } from './connected-server.ts';
import type { Origin } from './connection/client.ts';
import type { Connection, ExactRequest } from './connection/connection.ts';
import { Subscriber } from './connection/subscriber.ts';
import { isFailed } from './errors.ts';
import { ServerRegistry } from './identity.ts';
import { beside, channelOf, freezeResourceOf, patternOf, resourceOf } from './keys.ts';
import {
  acquisitionOf,
  as,
  extensionOf,
  integer,
  maxReportedBytes,
  oneOf,
  readReply,
  removalOf,
  repairOf,
  type Shape,
  text,
  tuple,
} from './replies.ts';
import {
  changedPage,
  historiesOfAtMost,
  type LockSnapshot,
  type Page,
  type SeenHistories,
  scannedPage,
  snapshotShape,
} from './snapshot.ts';

/** `taken`: another freeze is there; `standing` is the beginning of its value. */
export type FreezeReply =
  | { readonly kind: 'frozen' }
  | { readonly kind: 'taken'; readonly standing: string };

const freezing = as(
  tuple(oneOf(0, 1), text(maxReportedBytes)),
  ([code, standing]): FreezeReply =>
    code === 1 ? { kind: 'frozen' } : { kind: 'taken', standing },
);

/** How long the last answers are waited for. */
const lastAnswersMs = 250;

/** The masters of one program: none of them may be another one's server. */
export function serversAt<From extends Origin>(
  origins: readonly From[],
  settings: ServerSettings,
  clock: Clock,
  use: ServerUse,
): Server<From>[] {
  const registry = new ServerRegistry();
  return origins.map((origin) => new Server(origin, settings, registry, clock, use));
}

export class Server<From extends Origin = Origin> extends ConnectedServer<From> implements Master {
  readonly #calls = new Calls(this.settings);
  readonly #subscriber = new Subscriber(this.origin, this.clock);
  /** The ids under which we may be in the queue, with the last claim of each. */
  readonly #queued = new Map<string, Claim>();
  readonly #releasing = new Set<Promise<ReleaseReply>>();

  acquire(claim: Claim, withdrawn: AbortSignal): Promise<AcquireReply> {
    const { value, isFenced } = claim;
    const { asked } = this.unreleased.request(claim);
    if (claim.waiter) {
      this.#queued.set(claim.waiter.id, claim);
      this.#subscriber.resubscribe();
    }
    const call = this.#calls.toAcquire(claim);
    const read = (reply: unknown, connection: Connection) => {
      const vote = acquisitionOf(reply, isFenced ? Date.now() : null);
      if (vote.kind === 'granted') return this.#unlessRestarted(connection, vote);
      const known = this.unreleased.get(value);
      if (vote.kind === 'refused' && known?.asked === asked && !known.removal)
        this.unreleased.delete(value);
      return vote;
    };
    return this.ask<AcquireReply>((connection) => connection.run(call), read, withdrawn, claim);
  }

  extend(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<ExtendReply> {
    this.#subscriber.resubscribe();
    const held = this.unreleased.get(claim.value);
    if (held) held.endsAt = this.clock.now() + claim.ttlMs;
    const call = this.#calls.toExtend(claim, fence);
    return this.ask((connection) => connection.run(call), extensionOf, withdrawn);
  }

  repair(claim: Claim, fence: number | null, withdrawn: AbortSignal): Promise<RepairReply> {
    this.unreleased.request(claim);
    const call = this.#calls.toRepair(claim, fence);
    return this.ask((connection) => connection.run(call), repairOf, withdrawn, claim);
  }

  release(claim: Claim, keepMs: number, line: string | null): Promise<ReleaseReply> {
    return this.#release({ claim, keepMs, line, keepsPosition: false });
  }

  rollback(claim: Claim): Promise<ReleaseReply> {
    return this.#release({ claim, keepMs: 0, line: null, keepsPosition: true });
  }

  /** Releases a value that no key has, because this master may have been repaired by now. */
  dequeue({ start: _, ...claim }: Claim): Promise<ReleaseReply> {
    return this.release({ ...claim, value: `not ${claim.value}` }, 0, null);
  }

  subscribe(
    resources: readonly string[],
    id: string,
    onMessage: (message: string) => void,
  ): Promise<Subscription | Failed> {
    const channels = resources.map((resource) => channelOf(this.#key(resource), id));
    return this.#subscriber.subscribe(channels, onMessage);
  }

  /** A snapshot of each of these, in their order. */
  look(resources: readonly string[]): Promise<readonly LockSnapshot[] | Failed> {
    const snapshots = as(tuple(...resources.map(() => snapshotShape)), (all) => all);
    return this.#read(this.#calls.toLook(resources), snapshots);
  }

  /**
   * Some of the names that match a glob, as SCAN returns them: perhaps none, perhaps some twice.
   * Begin with cursor '0'.
   */
  page(of: 'locks' | 'freezes', cursor: string, pattern: string): Promise<Page | Failed> {
    const { prefix } = this.settings;
    const keys = patternOf(prefix, pattern);
    const [match, nameOf] =
      of === 'locks' ? [keys, resourceOf] : [beside(keys, 'freeze'), freezeResourceOf];
    const page = scannedPage((key) => nameOf(prefix, key));
    return this.#read(['SCAN', cursor, 'MATCH', match, 'COUNT', 1_000], page);
  }

  /**
   * As `page`, for the resources whose history has changed since `sinceMs`, in ms since 1970 on the
   * master's clock: those that changed last come first.
   */
  historyPage(cursor: string, count: number, sinceMs: number): Promise<Page | Failed> {
    const { prefix } = this.settings;
    const read = Number(cursor);
    const page = changedPage(read, count, sinceMs, (key) => resourceOf(prefix, key));
    const range = [-count - read, -1 - read, 'WITHSCORES'];
    return this.#read(['ZRANGE', beside(prefix, 'names:history'), ...range], page);
  }

  /** The history of each of these, with at most this many of its newest lines. */
  history(resources: readonly string[], maxLines: number): Promise<SeenHistories | Failed> {
    const call = this.#calls.toReadHistories(resources, maxLines);
    return this.#read(call, historiesOfAtMost(resources.length));
  }

  /** Bars new holders for `forMs` (0: until thawed), unless another freeze is there. */
  freeze(resource: string, value: string, forMs: number): Promise<FreezeReply | Failed> {
    return this.#read(this.#calls.toFreeze(resource, value, forMs), freezing);
  }

  /** Removes exactly this freeze; `line` is for the history, '' for none. */
  thaw(resource: string, value: string, line: string): Promise<ReleaseReply> {
    return this.#change(this.#calls.toThaw(resource, value, line));
  }

  /** Publishes to the subscriber with this id; '' wakes it. Resolves with how many received it. */
  publish(resource: string, id: string, message: string): Promise<number | Failed> {
    return this.#read(['PUBLISH', channelOf(this.#key(resource), id), message], integer(0));
  }

  /** Adds a line to the history. Resolves with whether the master has kept it. */
  addLine(resource: string, line: string): Promise<boolean | Failed> {
    const isKept = as(oneOf(0, 1), (code) => code === 1);
    return this.#read(this.#calls.toAddLine(resource, line), isKept);
  }

  /**
   * Removes a holder that has exactly this value, and wakes the first waiter, as its release would.
   */
  remove(resource: string, value: string, sharing: Sharing): Promise<ReleaseReply> {
    const { token } = parseValue(value);
    const own = { resources: [resource], token, value, ttlMs: 0, isFenced: false, waiter: null };
    const claim = { ...alone, ...own, sharing };
    return this.#change(
      this.#calls.toRelease({ claim, keepMs: 0, line: null, keepsPosition: false }),
    );
  }

  /** Puts another value in its place, which keeps others out for the time that was left. */
  exchange(resource: string, value: string, by: string): Promise<ReleaseReply> {
    return this.#change(this.#calls.toExchange(resource, value, by));
  }

  /** Records which set of masters a host uses. */
  recordSet(host: string, ids: readonly string[]): Promise<unknown> {
    const keys = [beside(this.settings.prefix, 'mark')];
    return this.#read(callOf('record_set', keys, { host, ids: ids.join() }), oneOf(0, 1));
  }

  /** Waits for the releases first: one whose connection was dead is sent again on another. */
  override async close(): Promise<void> {
    const endsAt = this.clock.now() + lastAnswersMs;
    this.#subscriber.close();
    const released = new AbortController();
    const onReleased = () => released.abort('released');
    Promise.all(this.#releasing).then(onReleased, onReleased);
    await sleepAwake(this.clock, endsAt - this.clock.now(), released.signal);
    await super.close(endsAt);
  }

  #release(removal: Removal): Promise<ReleaseReply> {
    const releasing = this.#releaseTwice(removal);
    const forget = () => this.#releasing.delete(releasing);
    this.#releasing.add(releasing);
    releasing.then(forget, forget);
    return releasing;
  }

  async #releaseTwice(removal: Removal): Promise<ReleaseReply> {
    const { claim, line, keepsPosition } = removal;
    const id = claim.waiter?.id ?? '';
    const queued = this.#queued.get(id);
    const isNeeded = this.unreleased.get(claim.value) || (queued && !keepsPosition);
    if (!isNeeded && line === null) return { kind: 'missing' };
    this.giveUpIfSilent();
    const mayHold = this.unreleased.get(claim.value) ?? this.unreleased.request(claim);
    for (const retired of [...mayHold.owing].filter((one) => one !== this.connection)) {
      void this.#sendRelease(retired, withoutWaiter(removal));
      this.unreleased.settle(retired, mayHold);
    }
    let wasSent = false;
    const sending = (one: Removal) => (connection: Connection) => {
      wasSent = true;
      mayHold.owing.delete(connection);
      mayHold.removal = removal;
      return this.#sendRelease(connection, one);
    };
    let reply = await this.ask(sending(removal), removalOf);
    if (isFailed(reply) && reply.cause === 'connection' && wasSent) {
      // The connection had broken before, unnoticed: routers forget idle ones. Once more on a new
      // one; a waiter may have left the queue by then, and must not come back.
      mayHold.removal = null;
      const again = keepsPosition ? withoutWaiter(removal) : removal;
      reply = await this.ask(sending(again), removalOf);
      // The first may have taken effect without an answer, so the value may have been there.
      if (!isFailed(reply)) reply = { kind: 'released' };
    }
    if (isFailed(reply) && (mayHold.wasSent || wasSent)) mayHold.removal = removal;
    else this.unreleased.delete(claim.value);
    // A later claim under the same id has entered the queue again, and will have to leave it.
    if (!isFailed(reply) && !keepsPosition && this.#queued.get(id) === queued)
      this.#queued.delete(id);
    return reply;
  }

  /** A user without a right to the history can still release. */
  async #sendRelease(connection: Connection, removal: Removal): Promise<unknown> {
    const run = (one: Removal) => connection.run(this.#calls.toRelease(one));
    const reply = await run(removal);
    const { start, ...claim } = removal.claim;
    const hasLine = removal.line !== null || start !== undefined;
    const isDenied = isFailed(reply) && reply.cause === 'denied' && hasLine;
    return isDenied ? run({ ...removal, claim, line: null }) : reply;
  }

  /**
   * Repeats the unconfirmed releases of a broken connection on the next one, before anything else.
   */
  protected override onConnected(connection: Connection): void {
    for (const [value, { removal }] of this.unreleased) {
      if (removal === null) continue;
      const reply = this.#sendRelease(connection, withoutWaiter(removal));
      void reply.then((code) => isFailed(removalOf(code)) || this.unreleased.delete(value));
    }
  }

  #unlessRestarted(connection: Connection, vote: Granted): Granted | Promise<Granted | Failed> {
    const failing = this.restartFailureOn(connection);
    return failing === null ? vote : failing.then((failure) => failure ?? vote);
  }

  #key(resource: string): string {
    return this.settings.prefix + resource;
  }

  #read<Answer>(request: ExactRequest, shape: Shape<Answer>): Promise<Answer | Failed> {
    return this.ask(
      (connection) => connection.exactly(request),
      (reply) => readReply(shape, reply),
    );
  }

  #change(request: ExactRequest): Promise<ReleaseReply> {
    return this.ask((connection) => connection.exactly(request), removalOf);
  }
}
