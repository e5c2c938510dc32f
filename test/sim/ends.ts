// Since when each resource has been free, and which waiters there were then. It notes ends and
// judges nothing. *Note:* a slot that is left to expire is not free yet, and the first waiter
// learns only later that it is.

import { quorumOf } from '../../src/lock/quorum.ts';
import type { Claim } from '../../src/lock/types.ts';
import { parseWaiterId } from '../../src/lock/waiter-id.ts';
import type { SimServer } from './sim-server.ts';
import type { World } from './world.ts';

export interface End {
  /** Freed on a quorum, by a release, by giving up a slot, or by a death. */
  readonly freeAt: number;
  readonly waiters: readonly string[];
  /** Left to expire: the waiter that is first by then learns of it with its next request. */
  readonly isLeft: boolean;
}

/** `leftUntil`: when slots expire that were left to expire, or a lock that is not extended. */
type Last = Omit<End, 'isLeft'> & { readonly leftUntil: readonly number[] };

export class Ends {
  readonly #world: World;
  readonly #servers: readonly SimServer[];
  readonly #prefix: string;
  readonly #masterCount: number;
  readonly #last = new Map<string, Last>();

  constructor(world: World, servers: readonly SimServer[], prefix: string, masterCount: number) {
    this.#world = world;
    this.#servers = servers;
    this.#prefix = prefix;
    this.#masterCount = masterCount;
  }

  /** undefined: it was never held. */
  of(resource: string): End | undefined {
    const last = this.#last.get(resource);
    if (!last) return undefined;
    const preemptedAt = this.#servers.flatMap(
      ({ redis }) => redis.preemptedAt.get(this.#prefix + resource) ?? [],
    );
    const leftUntil = Math.max(...last.leftUntil.filter((at) => at <= this.#world.now));
    const freeAt = Math.max(last.freeAt, leftUntil, ...preemptedAt);
    return { freeAt, waiters: last.waiters, isLeft: freeAt === leftUntil };
  }

  /** In so many ms; `isExpiring`: by expiry, without a release. */
  add(
    { resources, sharing }: Pick<Claim, 'resources' | 'sharing'>,
    keepMs: number,
    isExpiring = false,
  ): void {
    for (const resource of resources) {
      const last = this.#last.get(resource);
      const keptUntil = this.#world.now + keepMs;
      const isLeft = keepMs > 0 && sharing.kind === 'slots';
      const leftUntil = [...(last?.leftUntil ?? []), ...(isLeft || isExpiring ? [keptUntil] : [])];
      const freeAt = Math.max(isLeft ? 0 : keptUntil, last?.freeAt ?? 0);
      this.#last.set(resource, { freeAt, waiters: this.#waitersFor(resource), leftUntil });
    }
  }

  /**
   * A waiter leaves without the lock: the next one follows, if that waiter was in its way on any
   * master. That is the first one, and one that does not share behind some that do: those behind it
   * may have the lock beside a sharer.
   */
  addPlace({ resources, sharing, waiter }: Claim): void {
    if (!waiter) return;
    const isInTheWay = (resource: string) =>
      this.#servers.some(({ redis }) => {
        const ids = redis.queueOf(this.#prefix + resource).map(({ id }) => id);
        const position = ids.indexOf(waiter.id);
        const areSharers = ids.slice(0, position).every((id) => isSharer(id));
        return position === 0 || (position > 0 && areSharers && !isSharer(waiter.id));
      });
    this.add({ resources: resources.filter(isInTheWay), sharing }, 0);
  }

  #waitersFor(resource: string): string[] {
    const counts = new Map<string, number>();
    for (const { redis } of this.#servers) {
      for (const { id } of redis.queueOf(this.#prefix + resource))
        counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return [...counts].flatMap(([id, count]) => (count >= quorumOf(this.#masterCount) ? [id] : []));
  }
}

function isSharer(id: string): boolean {
  return parseWaiterId(id).traits.includes('shared');
}
